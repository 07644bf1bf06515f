//! What the output is shown on.

use std::{
    env,
    io::{self, IsTerminal, Write},
};

use analyze::report::Style;

/// How stdout is to be written to: as wide as the terminal, `COLUMNS` or 120, and in colour on terminals only.
pub(crate) fn style() -> Style {
    let columns = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let width = columns.or_else(|| console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns)));
    let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let default = Style::default();
    Style { width: width.unwrap_or(default.width).max(40), color: io::stdout().is_terminal() && !no_color }
}

/// Says something to whoever watches. A stderr that nobody reads any more is no reason to end.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes the result to stdout. A reader that has seen enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
