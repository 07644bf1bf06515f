//! Stacks with their values, one a line, as other tools save them: `main;read;copy 12`.

use super::ProfileError;

/// The stacks of a collapsed (folded) text. What their values count, the format doesn't say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Folded {
    /// Frames, root first, with the value of the stack.
    pub(super) stacks: Vec<(Vec<String>, f64)>,
}

impl Folded {
    /// Reads a text. Empty lines and comments (`#`) are left out; a `;` within brackets belongs to a name: `<[u8; 2] as Default>::default`.
    ///
    /// # Errors
    /// [`ProfileError::FoldedLine`] for a line without a stack and a value of 0 or more; [`ProfileError::Empty`].
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let lines = text.lines().map(str::trim).enumerate();
        let stacks = lines
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .map(|(at, line)| stack(line).ok_or_else(|| wrong(at, line)))
            .collect::<Result<Vec<_>, _>>()?;
        if stacks.is_empty() { Err(ProfileError::Empty) } else { Ok(Self { stacks }) }
    }
}

/// Whether bytes are text: a `profile.proto` has control characters, if only as the tags of its fields.
pub(super) fn as_text(bytes: &[u8]) -> Option<&str> {
    let is_text = |text: &&str| !text.contains(|c: char| c.is_control() && !['\n', '\r', '\t'].contains(&c));
    std::str::from_utf8(bytes).ok().filter(is_text)
}

fn wrong(at: usize, line: &str) -> ProfileError {
    /// The most of a line that an error repeats.
    const SHOWN: usize = 60;
    let shown: String = line.chars().take(SHOWN).collect();
    ProfileError::FoldedLine { line: at + 1, text: if shown.len() < line.len() { shown + "…" } else { shown } }
}

fn stack(line: &str) -> Option<(Vec<String>, f64)> {
    let (stack, value) = line.rsplit_once(char::is_whitespace)?;
    let is_number = value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value: f64 = value.parse().ok().filter(|_| is_number)?;
    let named = |name: &str| if name.trim().is_empty() { "<unknown>".to_owned() } else { name.trim().to_owned() };
    Some((frames(stack).into_iter().map(named).collect(), value))
}

/// Splits where a `;` stands outside of brackets. A bracket that is never closed is a character like others, as in the Java
/// descriptor `[Ljava/lang/String;` and the C++ `operator<`, for which angle brackets don't count at all.
fn frames(stack: &str) -> Vec<&str> {
    let inside = bracketed(stack);
    let mut inside = inside.iter().peekable();
    let mut frames = Vec::new();
    let mut from = 0;
    for (at, _) in stack.match_indices(';') {
        while inside.next_if(|(_, close)| *close < at).is_some() {}
        if inside.peek().is_none_or(|(open, _)| at < *open) {
            frames.push(&stack[from..at]);
            from = at + 1;
        }
    }
    frames.push(&stack[from..]);
    frames
}

/// Where the outermost pairs of brackets open and close, in order.
fn bracketed(text: &str) -> Vec<(usize, usize)> {
    const PAIRS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut waiting = [0usize; PAIRS.len()];
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (at, c) in text.char_indices() {
        if let Some(kind) = PAIRS.iter().position(|(opening, _)| *opening == c) {
            open.push((at, PAIRS[kind].1));
            waiting[kind] += 1;
        } else if let Some(kind) = PAIRS.iter().position(|(_, closing)| *closing == c)
            && waiting[kind] > 0
        {
            // What was opened within and not closed is no bracket.
            while let Some((from, closing)) = open.pop() {
                if let Some(of) = PAIRS.iter().position(|(_, each)| *each == closing) {
                    waiting[of] -= 1;
                }
                if closing == c {
                    while pairs.pop_if(|(inner, _)| *inner > from).is_some() {}
                    pairs.push((from, at));
                    break;
                }
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_in_brackets_belongs_to_the_name() {
        for (line, expected) in [
            ("p;a", vec!["p", "a"]),
            ("p;<[u8; 2] as Default>::default;q", vec!["p", "<[u8; 2] as Default>::default", "q"]),
            ("f<{ a; b }>;g", vec!["f<{ a; b }>", "g"]),
            ("m.F[go.shape.struct { a int; b [2]int }];n", vec!["m.F[go.shape.struct { a int; b [2]int }]", "n"]),
            ("std::operator<<;b", vec!["std::operator<<", "b"]),
            ("copy([Ljava/lang/Object;I)V;b", vec!["copy([Ljava/lang/Object;I)V", "b"]),
            ("truncated(int;b;[unknown]", vec!["truncated(int", "b", "[unknown]"]),
            ("[libc.so.6];a)b;c", vec!["[libc.so.6]", "a)b", "c"]),
            ("a", vec!["a"]),
        ] {
            assert_eq!(frames(line), expected, "{line}");
        }
    }

    #[test]
    fn a_line_is_a_stack_and_a_value() {
        let folded = Folded::parse("# of some tool\n\na;b c 12\r\na 1.5\n;x 3\n").expect("stacks");
        let frames = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            folded.stacks,
            [(frames(&["a", "b c"]), 12.0), (frames(&["a"]), 1.5), (frames(&["<unknown>", "x"]), 3.0)]
        );
        for (text, error) in [
            ("a;b 1\na;b", "line 2 is no folded stack (frame;frame value, with a value of 0 or more): \"a;b\""),
            ("12", "line 1 is no folded stack (frame;frame value, with a value of 0 or more): \"12\""),
            ("a -3", "line 1 is no folded stack (frame;frame value, with a value of 0 or more): \"a -3\""),
            ("a inf", "line 1 is no folded stack (frame;frame value, with a value of 0 or more): \"a inf\""),
            ("# nothing\n", "is empty, not a profile"),
        ] {
            assert_eq!(Folded::parse(text).expect_err(text).to_string(), error);
        }
    }

    #[test]
    fn a_profile_is_no_text() {
        assert_eq!(as_text(b"a;b 1\n"), Some("a;b 1\n"));
        assert_eq!(as_text(b"\n\x04\x08\x01\x10\x02"), None);
        assert_eq!(as_text(b"\xff"), None);
    }
}
