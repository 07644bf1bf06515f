//! What the paths of source files tell.

use super::names::is_hex;

/// The module a Rust source file holds, as far as its path tells: `h2-0.4.20/src/codec/framed_read.rs` is `h2::codec::framed_read`.
pub fn module(file: &str) -> Option<String> {
    let path = readable_path(file).strip_suffix(".rs")?;
    let (folder, path) = path.split_once("/src/").or_else(|| path.split_once("/out/"))?;
    let (package, _) = package(folder);
    let modules = path.split('/').filter(|part| !["lib", "main", "mod"].contains(part));
    Some(std::iter::once(package.as_str()).chain(modules).collect::<Vec<_>>().join("::"))
}

/// The package whose source a file is, and whether its folder has a version, as those of dependencies have.
pub(super) fn package_of(file: &str) -> Option<(String, bool)> {
    let path = readable_path(file);
    let end = [path.find("/src/"), path.find("/out/")].into_iter().flatten().min()?;
    Some(package(&path[..end]))
}

/// The name of a crate by the folder it lies in, and whether that has a version.
fn package(folder: &str) -> (String, bool) {
    // The folder of a build script's output ends in a hash.
    let is_hash = |text: &str| text.len() == 16 && is_hex(text);
    let is_version = |text: &str| text.starts_with(|c: char| c.is_ascii_digit()) && !is_hash(text);
    let suffixed = folder.rsplit_once('-').filter(|(_, end)| is_version(end) || is_hash(end));
    let name = suffixed.map_or(folder, |(name, _)| name).replace('-', "_");
    (name, suffixed.is_some_and(|(_, end)| is_version(end)))
}

/// A source file without where it lies on the machine it was compiled on: from the folder that holds the last `src`, from the
/// package whose build script wrote it, or from the module in Go's cache on.
///
/// `/home/me/.cargo/registry/src/index-0123456789abcdef/h2-0.4.20/src/server.rs` is `h2-0.4.20/src/server.rs`.
pub fn readable_path(path: &str) -> &str {
    if let Some((_, module)) = path.split_once("/pkg/mod/") {
        return module;
    }
    if let Some((_, generated)) = path.split_once("/build/").filter(|(_, rest)| rest.contains("/out/")) {
        return generated;
    }
    let Some(src) = path.rfind("/src/") else { return path };
    path[..src].rfind('/').map_or(path, |parent| &path[parent + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_start_where_the_crate_does() {
        for (path, readable) in [
            (
                "/home/me/.cargo/registry/src/index-0123456789abcdef/h2-0.4.20/src/codec/framed_read.rs",
                "h2-0.4.20/src/codec/framed_read.rs",
            ),
            ("/rustc/0123456789/library/alloc/src/raw_vec.rs", "alloc/src/raw_vec.rs"),
            ("/home/me/echo/server/src/triple/service.rs", "server/src/triple/service.rs"),
            ("server/src/grpc.rs", "server/src/grpc.rs"),
            (
                "/home/me/target/release/build/echo-proto-0123456789abcdef/out/benchmark.rs",
                "echo-proto-0123456789abcdef/out/benchmark.rs",
            ),
            (
                "/home/me/go/pkg/mod/google.golang.org/grpc@v1.81.0/server.go",
                "google.golang.org/grpc@v1.81.0/server.go",
            ),
            ("/usr/local/go/src/net/http/server.go", "go/src/net/http/server.go"),
            ("main.c", "main.c"),
        ] {
            assert_eq!(readable_path(path), readable);
        }
    }
}
