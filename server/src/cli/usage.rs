//! Usage errors in one line.

use std::process::ExitCode;

use clap::error::ErrorKind;

/// Prints what clap has to say about the arguments: help and version as they are, with exit code 0; an error as the one
/// line that names the flag, the value and what is allowed, with exit code 2.
pub fn explain(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Whoever closed stdout doesn't want to read it.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{}", one_line(&error.to_string()));
            ExitCode::from(2)
        }
    }
}

/// The first paragraph of clap's text, with its line breaks taken out. What follows is usage and a hint at `--help`.
fn one_line(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or(text);
    paragraph.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_paragraph_is_what_went_wrong() {
        let text = "error: required arguments were not provided:\n  <A>\n  <B>\n\nUsage: x <A> <B>\n";
        assert_eq!(one_line(text), "error: required arguments were not provided: <A> <B>");
    }
}
