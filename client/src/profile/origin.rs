//! Whose code a frame is: a crate's, a Go package's, or a library's.

use super::{
    Frame,
    builds::without_clones,
    names::{demangle, readable_frame},
    paths::{module, package_of, readable_path},
};

/// Crates of Rust's own library, whose files lie in a folder `library`.
const RUST_LIBRARY: [&str; 3] = ["core", "alloc", "std"];

pub(super) const PRIMITIVES: [&str; 17] = [
    "bool", "char", "str", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize",
    "f32", "f64",
];

/// Where a frame's code comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    /// The crate, the Go package, or the binary as `[libc.so.6]`; `<unknown>` when nothing tells.
    pub(super) package: String,
    /// What layers go by: the function with its modules, or the package when the name has none.
    pub(super) path: String,
    /// Whether its source lies where package managers put what a program depends on. `None` when there is no source.
    pub(super) is_dependency: Option<bool>,
}

/// Goes by the function's name, which says more than the file of a macro; but a method that a trait of Rust's library gives to
/// somebody's type is the library's, and the file says so.
pub(super) fn origin(frame: &Frame<'_>) -> Origin {
    let is_dependency = frame.file.map(is_dependency);
    let of = |package: String, path: String| Origin { package, path, is_dependency };
    if let Some((package, module)) = frame.file.and_then(of_rust_library) {
        return of(package.to_owned(), module);
    }
    let Some(function) = frame.function else {
        let binary = binary(frame);
        return of(binary.clone(), binary);
    };
    let name = readable_frame(frame);
    if let Some(package) = of_rust(&name) {
        return of(package, name);
    }
    if is_of_core(function) {
        return of(RUST_LIBRARY[0].to_owned(), RUST_LIBRARY[0].to_owned());
    }
    if let Some(package) = of_go(&name, frame.file) {
        let name = name.replace("%2e", ".");
        // Assembly has bare names.
        let path = if name.starts_with(&package) { name } else { format!("{package}.{name}") };
        return of(package, path);
    }
    // C, or a name that says nothing: whose source it is, or what it was linked into.
    match frame.file.and_then(package_of) {
        Some((package, _)) => of(package.clone(), package),
        None => {
            let package = binary(frame);
            let path = if frame.mapping.is_some() { package.clone() } else { name };
            of(package, path)
        }
    }
}

/// What a frame was linked into: `[libc.so.6]`; what the kernel maps has brackets already.
fn binary(frame: &Frame<'_>) -> String {
    let label = Frame { function: None, ..*frame }.label().into_owned();
    label.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")).map_or(label.clone(), |name| format!("[{name}]"))
}

/// The crate and module of a file of `core`, `alloc` or `std`.
fn of_rust_library(file: &str) -> Option<(&'static str, String)> {
    let (_, path) = file.rsplit_once("library/")?;
    let package =
        RUST_LIBRARY.into_iter().find(|package| path.strip_prefix(package).is_some_and(|p| p.starts_with("/src/")))?;
    let module = module(path)?;
    // Intrinsics lie in `core/src/../../stdarch/crates/core_arch/src`.
    let is_inside = module.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
    Some((package, if is_inside { module } else { format!("{package}::{module}") }))
}

/// The crate that a path begins with.
fn of_rust(name: &str) -> Option<String> {
    let (first, _) = name.split_once("::")?;
    let is_plain = first.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    (is_plain && !first.is_empty() && !PRIMITIVES.contains(&first)).then(|| first.to_owned())
}

/// `<[u8; 2] as Default>::default`, `<u64>::wrapping_mul`: nobody but Rust's library can write methods of these.
fn is_of_core(function: &str) -> bool {
    let demangled = demangle(function);
    demangled.strip_prefix('<').is_some_and(|target| {
        let word = target.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
        target.starts_with(['[', '(', '&', '*', '!']) || PRIMITIVES.contains(&word)
    })
}

/// The path of the package: `google.golang.org/grpc` of `google.golang.org/grpc.(*Server).handleStream`.
fn of_go(name: &str, file: Option<&str>) -> Option<String> {
    if file.is_some_and(|file| !file.ends_with(".go") && !file.ends_with(".s")) || name.contains("::") {
        return None;
    }
    // What stands in brackets may hold packages of its own.
    let path = name.split(['[', '(', '<']).next().unwrap_or("");
    let last = path.rfind('/').map_or(0, |at| at + 1);
    match path[last..].split_once('.') {
        Some((element, _)) if !element.is_empty() => {
            // What a compiler of C puts after a dot.
            let is_c = file.is_none() && without_clones(name) != name;
            (!is_c).then(|| path[..last + element.len()].replace("%2e", "."))
        }
        _ => {
            let (folder, _) = readable_path(file?).rsplit_once('/')?;
            Some(folder.strip_prefix("go/src/").unwrap_or(folder).to_owned())
        }
    }
}

/// Cargo's and Go's caches have the version in the path, and so has what was compiled without the folders above it.
fn is_dependency(file: &str) -> bool {
    file.contains("/git/checkouts/") || file.contains('@') || package_of(file).is_some_and(|(_, versioned)| versioned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(function: Option<&str>, file: Option<&str>, mapping: Option<&str>) -> Origin {
        origin(&Frame { function, symbol: None, file, line: None, mapping, inlined: false })
    }

    #[test]
    fn code_belongs_to_a_crate_or_a_package() {
        let h2 = "/r/registry/src/index-0123456789abcdef/h2-0.4.20/src/codec.rs";
        for (function, file, package) in [
            ("h2::codec::Codec<T,B>::poll", None, "h2"),
            ("<h2::codec::Codec<T> as futures_core::Stream>::poll_next", Some(h2), "h2"),
            ("<T as core::convert::Into<U>>::into", None, "core"),
            ("<E as hyper::rt::Executor<F>>::execute", None, "hyper"),
            ("hyper::proto::<impl core::future::Future for hyper::server::Conn<I>>::poll", None, "hyper"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", None, "core"),
            // Written by the library for somebody's type.
            ("<h2::Data<B> as core::iter::Iterator>::for_each", Some("library/core/src/iter/mod.rs"), "core"),
            ("<[u8; 2] as Default>::default", None, "core"),
            ("<u64>::wrapping_mul", None, "core"),
            ("<&str as Pattern>::find", None, "core"),
            // A macro's file is not whose the function is.
            ("echo_server::triple::serve::{{closure}}", Some("tokio-1.54.1/src/macros/select.rs"), "echo_server"),
            ("tonic::server::grpc::{async_fn#0}", None, "tonic"),
            ("call<http::Request<B>, T>", Some("/r/tower-0.5.3/src/util.rs"), "tower"),
            ("_mm_crc32", Some("library/core/src/../../stdarch/crates/core_arch/src/x86/sse.rs"), "core"),
            ("google.golang.org/grpc.(*Server).handleStream", None, "google.golang.org/grpc"),
            (
                "google.golang.org/grpc.(*Server).Serve.func2.1",
                Some("google.golang.org/grpc@v1.81.0/server.go"),
                "google.golang.org/grpc",
            ),
            ("sync/atomic.(*Pointer[go.shape.struct { a/b.T }]).Load", None, "sync/atomic"),
            ("slices.SortFunc[go.shape.[]x/y.Z,go.shape.int]", None, "slices"),
            ("gopkg.in/yaml%2ev3.Marshal", None, "gopkg.in/yaml.v3"),
            ("main.main", Some("/home/me/a/main.go"), "main"),
            ("aeshashbody", Some("/usr/local/go/src/runtime/asm_amd64.s"), "runtime"),
            (
                "arena_sdalloc",
                Some("/t/build/tikv-jemalloc-sys-0f81aa2f6ab1f711/out/build/src/arena.c"),
                "tikv_jemalloc_sys",
            ),
            ("writev", Some("misc/../sysdeps/unix/sysv/linux/writev.c"), "<unknown>"),
            ("read.part.0", None, "<unknown>"),
        ] {
            assert_eq!(of(Some(function), file, None).package, package, "{function}");
        }
        let libc = of(Some("__GI___writev"), Some("misc/writev.c"), Some("/usr/lib/libc.so.6"));
        assert_eq!((&*libc.package, &*libc.path), ("[libc.so.6]", "[libc.so.6]"));
        assert_eq!(of(None, None, Some("[vdso]")).package, "[vdso]");
        assert_eq!(of(None, None, None).package, "<unknown>");
    }

    #[test]
    fn a_dependency_lies_in_a_cache() {
        for (file, expected) in [
            ("/r/registry/src/index-0123456789abcdef/h2-0.4.20/src/codec.rs", true),
            ("/home/me/.cargo/git/checkouts/h2-0123/abcdef0/src/lib.rs", true),
            ("/home/me/go/pkg/mod/google.golang.org/grpc@v1.81.0/server.go", true),
            ("server/src/triple/mod.rs", false),
            ("/home/me/my-server/src/main.rs", false),
            ("/t/build/my-protos-0f81aa2f6ab1f711/out/echo.rs", false),
            ("/home/me/a/main.go", false),
        ] {
            assert_eq!(is_dependency(file), expected, "{file}");
        }
    }
}
