//! What a function is called in every build of a program.

use super::names::{braces, closing, demangle, is_disambiguator, without_hash};

/// What compilers append to a function that they made another of, before its number.
const CLONES: [&str; 6] = [".llvm", ".part", ".isra", ".constprop", ".cold", ".lto_priv"];
/// What Go calls functions without a name, before their number.
const NAMELESS: [&str; 2] = [".func", ".gowrap"];

/// A name without what another build, or another run, calls otherwise: hashes, the numbers of closures, compilers' suffixes, Go's
/// shapes and the tiers of a JVM. All else stays, so that two functions seldom become one.
///
/// | name | in every build |
/// |---|---|
/// | `h2::server::poll::{{closure}}::h0123456789abcdef.llvm.42` | `h2::server::poll::{closure}` |
/// | `slices.SortFunc[go.shape.[]uint8,go.shape.int].func1` | `slices.SortFunc[...].func` |
/// | `java.util.HashMap.put_[j]` | `java.util.HashMap.put` |
pub(super) fn across_builds(name: &str) -> String {
    let demangled = demangle(without_clones(name));
    let name = without_clones(&demangled);
    if name.contains("::") { rust(without_hash(name)) } else { go(name) }
}

/// A name without what compilers and profilers append.
pub(super) fn without_clones(name: &str) -> &str {
    let name =
        name.strip_suffix(']').and_then(|start| start.get(..start.len().checked_sub(3)?)).map_or(name, |start| {
            // The annotations of FlameGraph's collapse scripts and of async-profiler: `_[k]`, `_[j]`, `_[0]`.
            if !start.is_empty() && name[start.len()..].starts_with("_[") { start } else { name }
        });
    let shorter = name.rsplit_once('.').and_then(|(start, number)| {
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        let clone = CLONES.iter().find_map(|clone| start.strip_suffix(clone))?;
        (is_number && !clone.is_empty()).then_some(clone)
    });
    shorter.map_or(name, without_clones)
}

/// Closures lose their numbers, crates their disambiguators.
fn rust(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find(['{', '[']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(close) = closing(rest).filter(|_| rest.starts_with('{')) {
            out.push_str(&braces(&rest[..=close]));
            rest = &rest[close + 1..];
        } else if let Some(close) = rest.find(']').filter(|_| is_disambiguator(rest)) {
            rest = &rest[close + 1..];
        } else {
            out.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    out + rest
}

/// Instances of generic functions become one; functions without a name lose their numbers.
fn go(name: &str) -> String {
    without_numbers(&without_shapes(name))
}

/// A name without the types that Go made an instance of a generic function for, as Go's own tools show it.
pub(super) fn without_shapes(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('[') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match closing_square(rest).filter(|close| rest[..*close].contains("go.shape.")) {
            Some(close) => {
                out.push_str("[...]");
                rest = &rest[close + 1..];
            }
            None => {
                out.push('[');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

/// Where the `[` that `text` starts with is closed. Angle brackets are arrows here: `[go.shape.<-chan int]`.
fn closing_square(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => return None,
        }
        (depth == 0).then_some(at)
    })
}

/// `net/http.(*Server).Serve.func2.1` is `net/http.(*Server).Serve.func`; `main.func1` is a function of that name.
fn without_numbers(name: &str) -> String {
    let package = name.rfind('/').map_or(0, |slash| slash + 1);
    let Some(outer) = name[package..].find('.').map(|dot| package + dot + 1) else { return name.to_owned() };
    let (start, mut rest) = name.split_at(outer);
    let mut out = start.to_owned();
    while let Some((at, nameless)) = NAMELESS.iter().filter_map(|each| Some((rest.find(each)?, each))).min() {
        let end = at + nameless.len();
        out.push_str(&rest[..end]);
        rest = match after_number(&rest[end..]) {
            Some(mut after) => {
                while let Some(next) = after.strip_prefix('.').and_then(after_number) {
                    after = next;
                }
                after
            }
            None => &rest[end..],
        };
    }
    out + rest
}

/// What follows a number that is a whole part of a name.
fn after_number(text: &str) -> Option<&str> {
    let after = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (after.len() < text.len() && (after.is_empty() || after.starts_with(['.', '-']))).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_build_adds_is_taken_off() {
        for (name, expected) in [
            ("a::b::h0123456789abcdef", "a::b"),
            ("a::b::h0123456789abcdef.llvm.1234567890", "a::b"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.7", "core::fmt::Write::write_fmt"),
            ("a::f::{{closure}}::{closure#3}", "a::f::{closure}::{closure}"),
            ("a::f::{async_block#12}", "a::f::{async_block}"),
            ("alloc[8f3a01c2]::vec::Vec::<u8>::push", "alloc::vec::Vec::<u8>::push"),
            ("ffi_call.part.0.constprop.1", "ffi_call"),
            ("a::slow.cold.3", "a::slow"),
            ("slices.SortFunc[go.shape.[]uint8,go.shape.uint8]", "slices.SortFunc[...]"),
            ("sync/atomic.(*Pointer[go.shape.struct { a int }]).Load", "sync/atomic.(*Pointer[...]).Load"),
            ("slices.SortFunc[go.shape.int].func1", "slices.SortFunc[...].func"),
            ("m.F[go.shape.<-chan int]", "m.F[...]"),
            ("m.(*T[go.shape.map[string]go.shape.[]int]).Get", "m.(*T[...]).Get"),
            ("net/http.(*Server).Serve.func2.1.3", "net/http.(*Server).Serve.func"),
            ("main.run.func1.gowrap2", "main.run.func.gowrap"),
            ("java.util.HashMap.put_[j]", "java.util.HashMap.put"),
            ("do_syscall_64_[k]", "do_syscall_64"),
        ] {
            assert_eq!(across_builds(name), expected, "{name}");
            assert_eq!(across_builds(expected), expected, "once is enough");
        }
    }

    #[test]
    fn what_all_builds_have_stays() {
        for name in [
            "<[u8; 2] as Default>::default",
            "a::f::<{ N }>::g",
            "core::ops::FnOnce::call_once{{vtable.shim}}",
            "h2::h264::h12",
            "main.func1",
            "main.(*T).function2",
            "main.run.func1x",
            "main.cold",
            "github.com/a.b/c.Run",
            "m.F[int]",
            ".cold.1",
            "java.lang.String.<init>",
            "[libc.so.6]",
            "[unknown]",
            "a::b[",
            "µ]",
            "x]",
            "_[k]",
            "",
        ] {
            assert_eq!(across_builds(name), name);
        }
    }
}
