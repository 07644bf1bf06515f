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
        kind => {
            eprintln!("{}", one_line(kind, &error.to_string()));
            ExitCode::from(super::USAGE)
        }
    }
}

/// The first paragraph of clap's text without its line breaks, and of the rest what says what is allowed.
fn one_line(kind: ErrorKind, text: &str) -> String {
    let allowed = match kind {
        ErrorKind::InvalidSubcommand => "Usage:",
        _ => "tip:",
    };
    let mut paragraphs = text.split("\n\n").map(|paragraph| {
        paragraph.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    });
    let problem = paragraphs.next().unwrap_or_default();
    match paragraphs.find(|paragraph| paragraph.starts_with(allowed)) {
        Some(allowed) => format!("{problem}. {allowed}"),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_says_what_is_wrong_and_what_is_allowed() {
        let missing = "error: required arguments were not provided:\n  <A>\n  <B>\n\nUsage: x <A> <B>\n";
        assert_eq!(
            one_line(ErrorKind::MissingRequiredArgument, missing),
            "error: required arguments were not provided: <A> <B>"
        );
        let unknown = "error: unrecognized subcommand 'c'\n\n  tip: a\n\nUsage: x <a|b>\n\nFor more, see\n";
        assert_eq!(
            one_line(ErrorKind::InvalidSubcommand, unknown),
            "error: unrecognized subcommand 'c'. Usage: x <a|b>"
        );
        let flag = "error: unexpected argument '--x'\n\n  tip: '--y' exists\n\nUsage: x\n";
        assert_eq!(one_line(ErrorKind::UnknownArgument, flag), "error: unexpected argument '--x'. tip: '--y' exists");
    }
}
