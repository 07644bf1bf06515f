//! Names of functions as people read them.

use std::borrow::Cow;

use super::{Frame, builds::without_shapes, paths::module};

/// A function's name without what hides it: hashes, generic parameters, and the trait it was called through. `crate::module::function`
/// stays, as do the names of other languages.
///
/// | symbol | readable |
/// |---|---|
/// | `<h2::codec::FramedRead<T> as futures_core::Stream>::poll_next::h0123456789abcdef` | `h2::codec::FramedRead::poll_next` |
/// | `hyper::proto::<impl core::future::Future for hyper::server::Conn<I>>::poll` | `hyper::server::Conn::poll` |
/// | `alloc::slice::<impl [T]>::to_vec` | `alloc::slice::to_vec` |
/// | `<T as core::convert::Into<U>>::into` | `core::convert::Into::into` |
/// | `core::ptr::drop_in_place<alloc::vec::Vec<h2::Frame<B>>>` | `core::ptr::drop_in_place<Vec<Frame>>` |
pub fn readable_name(symbol: &str) -> Cow<'_, str> {
    let demangled = demangle(symbol);
    // `Map.<init>` is Java's; Go and C have no `::`.
    if !demangled.contains("::") || demangled.contains(".<") {
        return demangled;
    }
    match simplify(without_hash(&demangled)) {
        Some(name) if !name.is_empty() => Cow::Owned(name),
        _ => demangled,
    }
}

/// The readable name of a frame's function. With line tables only, the debug information of inlined functions has their bare names:
/// `with_capacity_in`. The module is then that of the source file: `alloc::raw_vec::with_capacity_in`.
pub fn readable_frame(frame: &Frame<'_>) -> String {
    let label = frame.label();
    let Some(module) = frame.file.and_then(module).filter(|_| frame.function.is_some()) else {
        return readable_name(&label).into_owned();
    };
    match simplify(&label) {
        Some(bare) if !bare.contains("::") => format!("{module}::{bare}"),
        _ => readable_name(&label).into_owned(),
    }
}

/// The name of a frame's function with its generic parameters, where there are any: what tells its instances apart.
pub(super) fn full_name(frame: &Frame<'_>) -> String {
    let label = frame.label();
    let demangled = demangle(&label);
    let name = without_hash(&demangled);
    match frame.file.and_then(module).filter(|_| frame.function.is_some()) {
        Some(module) if simplify(name).is_some_and(|bare| !bare.contains("::")) => format!("{module}::{name}"),
        _ => name.to_owned(),
    }
}

/// The [readable](readable_frame) name, without the types that Go writes into those of generic functions.
pub(super) fn folded_name(frame: &Frame<'_>) -> String {
    without_shapes(&readable_frame(frame))
}

pub(super) fn demangle(symbol: &str) -> Cow<'_, str> {
    if symbol.starts_with("_ZN") || symbol.starts_with("_R") {
        // The alternate form leaves out the hash, or the crates' disambiguators.
        rustc_demangle::try_demangle(symbol).map_or(symbol.into(), |name| format!("{name:#}").into())
    } else {
        symbol.into()
    }
}

/// Legacy symbols end in `::h` and 16 hex digits.
pub(super) fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && is_hex(hash) => path,
        _ => name,
    }
}

pub(super) fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Drops generic parameters and resolves `<A as B>`. `None` when the brackets don't match.
pub(super) fn simplify(name: &str) -> Option<String> {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        match next {
            '<' => {
                let close = closing(rest)?;
                angle(&mut out, &rest[1..close])?;
                rest = &rest[close + 1..];
            }
            '[' if is_disambiguator(rest) => rest = &rest[rest.find(']')? + 1..],
            '{' => {
                let close = closing(rest)?;
                out.push_str(&braces(&rest[..=close]));
                rest = &rest[close + 1..];
            }
            _ => {
                out.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    Some(out)
}

/// What stands for `<inner>` after what has been written so far.
fn angle(out: &mut String, inner: &str) -> Option<()> {
    if let Some(implementation) = inner.strip_prefix("impl ") {
        // `module::<impl Trait for Type>`: the type says more than the module it is implemented in.
        let target = split_at_depth_0(implementation, " for ").map_or(implementation, |(_, target)| target);
        return put_type(out, target, None);
    }
    if out.is_empty() {
        // `<Type as Trait>` or `<Type>`.
        let (target, of) = split_at_depth_0(inner, " as ").map_or((inner, None), |(target, of)| (target, Some(of)));
        return put_type(out, target, of);
    }
    if out.ends_with("drop_in_place") || out.ends_with("drop_in_place::") {
        drop_separator(out);
        *out += &format!("<{}>", brief(inner)?);
        return Some(());
    }
    drop_separator(out);
    Some(())
}

/// Replaces what has been written by a type's path; a type without one (`T`, `[u8]`, `fn() -> T`) gives way to the trait's, or to the
/// module's.
fn put_type(out: &mut String, target: &str, of: Option<&str>) -> Option<()> {
    let path = simplify(without_reference(target))?;
    if path.contains("::") && !path.contains([' ', '(', '[']) {
        *out = path;
    } else if let Some(of) = of {
        *out = simplify(of)?;
    } else if out.is_empty() {
        *out = path;
    } else {
        drop_separator(out);
    }
    Some(())
}

/// The last part of a type's name, and for what the standard library wraps around others, what is in it: `Option<Body>`. For a
/// closure, whose it is.
fn brief(target: &str) -> Option<String> {
    let target = without_reference(target);
    let path = simplify(target)?;
    let at = path.rfind("::").map_or(0, |at| at + 2);
    let last = &path[at..];
    if last == "{closure}" {
        let whose = path[..at.saturating_sub(2)].rfind("::").map_or(0, |at| at + 2);
        return Some(path[whose..].to_owned());
    }
    let is_wrapper = ["core::", "alloc::", "std::"].iter().any(|library| path.starts_with(library));
    match target.split_once('<') {
        Some((before, _)) if is_wrapper && !before.is_empty() => {
            let inner = &target[before.len()..];
            let arguments = &inner[1..closing(inner)?];
            let first = split_at_depth_0(arguments, ",").map_or(arguments, |(first, _)| first);
            Some(format!("{last}<{}>", brief(first)?))
        }
        _ => Some(last.to_owned()),
    }
}

fn drop_separator(out: &mut String) {
    if out.ends_with("::") {
        out.truncate(out.len() - 2);
    }
}

fn without_reference(target: &str) -> &str {
    ["&mut ", "&", "*const ", "*mut ", "dyn "]
        .iter()
        .find_map(|prefix| target.strip_prefix(prefix))
        .map_or(target, without_reference)
}

/// `{{closure}}` and `{closure#3}` are the same to a reader, as are the first and the second `{async_block#1}`.
pub(super) fn braces(text: &str) -> String {
    match text.split_once('#') {
        _ if text.contains("closure") => "{closure}".to_owned(),
        Some((kind, number)) if number.trim_end_matches('}').bytes().all(|b| b.is_ascii_digit()) => format!("{kind}}}"),
        _ => text.to_owned(),
    }
}

/// `alloc[8f3a01]::vec`: which of several crates of that name.
pub(super) fn is_disambiguator(rest: &str) -> bool {
    let inner = rest[1..].split(']').next().unwrap_or("");
    inner.len() >= 5 && inner.len() < rest.len() - 1 && is_hex(inner)
}

/// Where the bracket that `text` starts with is closed.
pub(super) fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            // The arrow of `fn() -> T`.
            '>' if before == '-' => {}
            '>' | ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
        before = c;
    }
    None
}

/// Splits at the first `separator` that is in no brackets.
pub(super) fn split_at_depth_0<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let mut depth = 0i32;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' | '}' => depth -= 1,
            _ if depth == 0 && text[at..].starts_with(separator) => {
                return Some((&text[..at], &text[at + separator.len()..]));
            }
            _ => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_names_lose_what_hides_them() {
        for (symbol, readable) in [
            ("tonic::codec::encode::EncodedBytes::poll::h0123456789abcdef", "tonic::codec::encode::EncodedBytes::poll"),
            ("<h2::codec::FramedRead<T> as futures_core::Stream>::poll_next", "h2::codec::FramedRead::poll_next"),
            (
                "hyper::proto::h2::<impl core::future::future::Future for hyper::proto::h2::server::H2Stream<F,B,E>>::poll",
                "hyper::proto::h2::server::H2Stream::poll",
            ),
            ("alloc::slice::<impl [T]>::to_vec", "alloc::slice::to_vec"),
            ("alloc::raw_vec::RawVec<T,A>::grow_one", "alloc::raw_vec::RawVec::grow_one"),
            ("<alloc::raw_vec::RawVec<u8>>::grow_one", "alloc::raw_vec::RawVec::grow_one"),
            ("alloc[8f3a01c2]::vec::Vec::<u8>::with_capacity", "alloc::vec::Vec::with_capacity"),
            ("<T as core::convert::Into<U>>::into", "core::convert::Into::into"),
            ("<&mut T as bytes::buf::buf_impl::Buf>::advance", "bytes::buf::buf_impl::Buf::advance"),
            ("<[u8] as alloc::borrow::ToOwned>::to_owned", "alloc::borrow::ToOwned::to_owned"),
            (
                "core::ptr::drop_in_place<alloc::vec::Vec<http::header::Entry<T>>>",
                "core::ptr::drop_in_place<Vec<Entry>>",
            ),
            ("core::ptr::drop_in_place::<hyper::Body>", "core::ptr::drop_in_place<Body>"),
            ("core::ptr::drop_in_place::<core::result::Result<&a::B<C>, D>>", "core::ptr::drop_in_place<Result<B>>"),
            ("core::ptr::drop_in_place<h2::server::poll::{{closure}}>", "core::ptr::drop_in_place<poll::{closure}>"),
            (
                "echo_server::triple::serve::{{closure}}::{{closure}}",
                "echo_server::triple::serve::{closure}::{closure}",
            ),
            ("echo_server::triple::serve::{closure#0}", "echo_server::triple::serve::{closure}"),
            ("tonic::server::grpc::{async_fn#12}", "tonic::server::grpc::{async_fn}"),
            (
                "core::ops::function::FnOnce::call_once{{vtable.shim}}",
                "core::ops::function::FnOnce::call_once{{vtable.shim}}",
            ),
            ("<fn(a::B) -> c::D as core::ops::FnOnce<(a::B,)>>::call_once", "core::ops::FnOnce::call_once"),
            (
                "tokio::runtime::task::raw::poll::<hyper::Task<F>, alloc::sync::Arc<S>>",
                "tokio::runtime::task::raw::poll",
            ),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
        ] {
            assert_eq!(readable_name(symbol), readable, "{symbol}");
        }
    }

    #[test]
    fn bare_names_get_the_module_of_their_file() {
        let frame = |function, file| Frame {
            function: Some(function),
            symbol: None,
            file: Some(file),
            line: None,
            mapping: None,
            inlined: true,
        };
        for (name, file, readable) in [
            ("with_capacity_in", "/rustc/0/library/alloc/src/raw_vec/mod.rs", "alloc::raw_vec::with_capacity_in"),
            ("call<http::Request<B>, T>", "/r/tower-0.5.3/src/util.rs", "tower::util::call"),
            ("next<u8>", "/r/hyper-util-0.1.21/src/rt/tokio.rs", "hyper_util::rt::tokio::next"),
            ("{closure#0}", "/home/me/echo-server/src/lib.rs", "echo_server::{closure}"),
            ("h2::frame::Data::new", "/rustc/0/library/core/src/mem.rs", "h2::frame::Data::new"),
            (
                "call",
                "/home/me/target/debug/build/echo-proto-f123456789abcdef/out/benchmark.rs",
                "echo_proto::benchmark::call",
            ),
            ("memcpy", "../sysdeps/x86_64/memmove.S", "memcpy"),
            ("main.main", "/go/src/main.go", "main.main"),
        ] {
            assert_eq!(readable_frame(&frame(name, file)), readable);
        }
    }

    #[test]
    fn other_names_stay() {
        for name in [
            "google.golang.org/grpc.(*Server).handleStream",
            "sync/atomic.(*Pointer[go.shape.struct { a int }]).Load",
            "java.util.HashMap.<init>",
            "std::operator<< broken",
            "malloc",
            "[libc.so.6]",
            "a::b<c",
            "",
        ] {
            assert_eq!(readable_name(name), name);
        }
    }

    #[test]
    fn instances_of_a_generic_function_share_their_folded_name() {
        for (name, folded) in [
            ("sync/atomic.(*Pointer[go.shape.struct { a int }]).Load", "sync/atomic.(*Pointer[...]).Load"),
            ("slices.SortFunc[go.shape.[]x/y.Z,go.shape.int].func1", "slices.SortFunc[...].func1"),
            ("main.f[go.shape.broken", "main.f[go.shape.broken"),
            ("h2::frame::load::<h2::Head<u8>>::{closure#1}", "h2::frame::load::{closure}"),
            ("<[u8; 2] as core::default::Default>::default", "core::default::Default::default"),
        ] {
            let frame =
                Frame { function: Some(name), symbol: None, file: None, line: None, mapping: None, inlined: false };
            assert_eq!((folded_name(&frame), full_name(&frame)), (folded.to_owned(), name.to_owned()));
        }
    }
}
