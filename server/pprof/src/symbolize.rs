//! From an address to the functions and lines it stands for, inlined ones included.
//!
//! Takes tenths of a second and a hundred megabytes for a program of some size, the first time: only ever done on a
//! thread that is not counted, after recording has ended.

use std::{
    collections::HashMap,
    env,
    ffi::c_void,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering::AcqRel},
};

use crate::modules::Module;

/// A function at a place in its source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct SourceFrame {
    /// Demangled, without hash.
    pub(crate) name: String,
    /// As in the symbol table.
    pub(crate) system_name: String,
    /// Shortened by [`short_path`]; empty when unknown.
    pub(crate) file: String,
    /// 0 when unknown.
    pub(crate) line: u32,
}

/// Symbolizers there are, which share the cache of debug information.
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// Resolves addresses of this process, each once.
pub(crate) struct Symbolizer<'m> {
    modules: &'m [Module],
    known: HashMap<usize, Vec<SourceFrame>>,
    working_dir: Option<PathBuf>,
}

impl<'m> Symbolizer<'m> {
    pub(crate) fn new(modules: &'m [Module]) -> Self {
        IN_USE.fetch_add(1, AcqRel);
        Symbolizer { modules, known: HashMap::new(), working_dir: env::current_dir().ok() }
    }

    /// The functions at an address, innermost inlined first; empty when nothing is known of it. The address is of the
    /// instruction itself: for a return address, the byte before.
    pub(crate) fn frames(&mut self, address: usize) -> &[SourceFrame] {
        let (modules, working_dir) = (self.modules, self.working_dir.as_ref());
        self.known.entry(address).or_insert_with(|| {
            let mut frames = by_debug_info(address, working_dir);
            name_by_symbol_table(&mut frames, modules, address);
            frames
        })
    }
}

impl Drop for Symbolizer<'_> {
    fn drop(&mut self) {
        // Tens of megabytes that nobody needs until the next profile. While another one resolves they must stay: it would
        // read all debug information again for its next address.
        if IN_USE.fetch_sub(1, AcqRel) == 1 {
            backtrace::clear_symbol_cache();
        }
    }
}

fn by_debug_info(address: usize, working_dir: Option<&PathBuf>) -> Vec<SourceFrame> {
    let mut frames = Vec::new();
    // `resolve` takes a return address and looks one byte before it.
    backtrace::resolve(address.wrapping_add(1) as *mut c_void, |symbol| {
        let Some(name) = symbol.name() else { return };
        let file = symbol.filename().map(|path| short_path(&path.to_string_lossy(), working_dir)).unwrap_or_default();
        let name = format!("{name:#}");
        let raw = symbol.name().and_then(|name| name.as_str()).unwrap_or_default();
        // pprof takes a name that equals its system name for mangled C++ and cuts out what is in angle brackets.
        let system_name = if raw == name && raw.contains('<') { "" } else { raw };
        frames.push(SourceFrame {
            system_name: system_name.to_owned(),
            name,
            file,
            line: symbol.lineno().unwrap_or(0),
        });
    });
    frames
}

/// Gives the outermost frame, the function that was really called, its full name: with line tables alone the debug info
/// has only its last part (`poll`), unless it is inlined elsewhere too.
fn name_by_symbol_table(frames: &mut Vec<SourceFrame>, modules: &[Module], address: usize) {
    let module = modules.iter().find(|module| module.contains(address as u64));
    let Some(symbol) = module.and_then(|module| module.function_at(address as u64)) else { return };
    if frames.is_empty() {
        frames.push(SourceFrame::default());
    }
    if let Some(outermost) = frames.last_mut() {
        outermost.name = format!("{:#}", rustc_demangle::demangle(symbol));
        outermost.system_name = symbol.to_owned();
    }
}

/// A source path as a reader of another machine wants it: crates by name and version, the standard library by its own
/// tree, files below the working directory relative to it. Others stay as they are.
fn short_path(path: &str, working_dir: Option<&PathBuf>) -> String {
    if let Some((_, rest)) = path.split_once("/registry/src/") {
        // The next part names the registry.
        return rest.split_once('/').map_or(rest, |(_, rest)| rest).to_owned();
    }
    if let Some((_, rest)) = path.split_once("/git/checkouts/") {
        return rest.to_owned();
    }
    if let Some(rest) = path.strip_prefix("/rustc/") {
        return rest.split_once('/').map_or(rest, |(_, rest)| rest).to_owned();
    }
    if let Some((_, rest)) = path.split_once("/lib/rustlib/src/rust/") {
        return rest.to_owned();
    }
    working_dir
        .and_then(|dir| path.strip_prefix(dir.to_str()?)?.strip_prefix('/'))
        .unwrap_or(path)
        .trim_start_matches("./")
        .to_owned()
}

/// Whether a function is how an allocation enters the allocator; what lies further in says nothing about the program.
pub(crate) fn is_allocator_entry(name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    matches!(
        last,
        "__rust_alloc" | "__rust_alloc_zeroed" | "__rust_realloc" | "__rg_alloc" | "__rg_alloc_zeroed" | "__rg_realloc"
    ) || name.contains("debug_pprof::alloc::CountingAlloc")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules;

    #[test]
    fn paths_are_shortened_to_what_a_reader_knows() {
        let dir = PathBuf::from("/home/me/echo");
        let short = |path| short_path(path, Some(&dir));
        assert_eq!(short("/home/me/.cargo/registry/src/index-1/h2-0.4.20/src/lib.rs"), "h2-0.4.20/src/lib.rs");
        assert_eq!(short("/rustc/0123abc/library/std/src/thread/mod.rs"), "library/std/src/thread/mod.rs");
        assert_eq!(short("/x/lib/rustlib/src/rust/library/core/src/a.rs"), "library/core/src/a.rs");
        assert_eq!(short("/home/me/.cargo/git/checkouts/h2-1/abc/src/lib.rs"), "h2-1/abc/src/lib.rs");
        assert_eq!(short("/home/me/echo/server/src/lib.rs"), "server/src/lib.rs");
        assert_eq!(short("/elsewhere/main.c"), "/elsewhere/main.c");
    }

    #[test]
    #[inline(never)]
    fn this_function_is_found_by_name_file_and_line() {
        let modules = modules::loaded();
        let mut symbolizer = Symbolizer::new(&modules);
        let mut found = Vec::new();
        backtrace::trace(|frame| {
            found.extend_from_slice(symbolizer.frames((frame.ip() as usize).saturating_sub(1)));
            true
        });
        let own =
            found.iter().find(|f| f.name.ends_with("symbolize::tests::this_function_is_found_by_name_file_and_line"));
        let own = own.unwrap_or_else(|| panic!("own frame among {found:?}"));
        assert!(own.file.ends_with("src/symbolize.rs"), "{own:?}");
        assert!(own.line > 0, "{own:?}");
    }

    #[test]
    fn allocator_entries_are_known_by_name() {
        assert!(is_allocator_entry("__rustc::__rust_alloc"));
        assert!(is_allocator_entry(
            "<debug_pprof::alloc::CountingAlloc<A> as core::alloc::global::GlobalAlloc>::realloc"
        ));
        assert!(!is_allocator_entry("alloc::raw_vec::RawVecInner<A>::try_allocate_in"));
    }
}
