//! The object files mapped into this process: what an address in a profile belongs to.

use std::{fs, path::Path};

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

/// What mappings begin at a multiple of: on machines with larger pages segments are aligned to those as well.
const PAGE: u64 = 4096;
/// How the kernel marks the path of a file that was removed or replaced.
const DELETED: &str = " (deleted)";

/// An executable mapping, as `/proc/self/maps` has it, and what its file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Module {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) file_offset: u64,
    pub(crate) path: String,
    /// The file is no longer at its path.
    pub(crate) replaced: bool,
    /// Lower-case hexadecimal; empty when the file has none.
    pub(crate) build_id: String,
    /// The functions that begin in the mapping, by address in this process.
    pub(crate) functions: Vec<NamedRange>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedRange {
    start: u64,
    end: u64,
    name: String,
}

/// The executable mappings of this process, by address. Reads each file for its build id and its symbols.
pub(crate) fn loaded() -> Vec<Module> {
    // Without /proc the profile has no mappings, which pprof allows.
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut modules: Vec<Module> = maps.lines().filter_map(parse).collect();
    for module in &mut modules {
        module.read_file();
    }
    modules
}

impl Module {
    pub(crate) fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    /// The name in the symbol table of the function that holds this address.
    pub(crate) fn function_at(&self, address: u64) -> Option<&str> {
        let index = self.functions.partition_point(|function| function.start <= address).checked_sub(1)?;
        let function = &self.functions[index];
        (address < function.end).then_some(&function.name)
    }

    /// Where the mapped file can be read. A file that was replaced since has another's symbols at its path: the running
    /// program's own is still to be had, of any other nothing true can be known.
    fn path_to_read(&self) -> Option<&Path> {
        let path = Path::new(&self.path);
        let path = match self.replaced {
            false => path,
            true => {
                let own = Path::new("/proc/self/exe");
                let target = fs::read_link(own).ok()?;
                (target.to_str()? == format!("{}{DELETED}", self.path)).then_some(own)?
            }
        };
        // Devices have no end.
        (path.is_absolute() && fs::metadata(path).is_ok_and(|file| file.is_file())).then_some(path)
    }

    /// Fills in what the file says. A file that can't be read or isn't ELF leaves the module as it is: `[vdso]` is none.
    fn read_file(&mut self) {
        let Some(data) = self.path_to_read().and_then(|path| fs::read(path).ok()) else { return };
        let Ok(file) = object::File::parse(&*data) else { return };
        if let Ok(Some(id)) = file.build_id() {
            self.build_id = id.iter().map(|byte| format!("{byte:02x}")).collect();
        }
        // Mappings begin at whole pages, segments don't: theirs is the executable one that begins in the same page or
        // before, and no other executable one follows up to there.
        let executable = |segment: &object::Segment<'_, '_>| segment.permissions().executable();
        let begins_before = |segment: &object::Segment<'_, '_>| segment.file_range().0 < self.file_offset + PAGE;
        let Some(segment) = file.segments().filter(executable).filter(begins_before).last() else { return };
        let linked_at = segment.address().wrapping_add(self.file_offset).wrapping_sub(segment.file_range().0);
        let slide = self.start.wrapping_sub(linked_at);
        // Stripped libraries keep the symbols they export.
        let symbols = file.symbols().chain(file.dynamic_symbols());
        self.functions = symbols
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0)
            .filter_map(|symbol| {
                let start = symbol.address().wrapping_add(slide);
                Some(NamedRange { start, end: start.wrapping_add(symbol.size()), name: symbol.name().ok()?.to_owned() })
            })
            .filter(|function| self.contains(function.start))
            .collect();
        self.functions.sort_by_key(|function| function.start);
    }
}

/// A line such as `55d0c0-55d0f0 r-xp 00001000 08:01 1234   /usr/bin/x`; `None` unless it is executable and has a name.
fn parse(line: &str) -> Option<Module> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?;
    let offset = fields.next()?;
    let path = fields.skip(2).collect::<Vec<_>>().join(" ");
    if !permissions.contains('x') || path.is_empty() {
        return None;
    }
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    Some(Module {
        start: hex(start)?,
        end: hex(end)?,
        file_offset: hex(offset)?,
        replaced: path.ends_with(DELETED),
        path: path.trim_end_matches(DELETED).to_owned(),
        ..Module::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_lines_are_parsed() {
        let line = "55d0c0001000-55d0c0003000 r-xp 00001000 08:01 1234     /opt/with space/x (deleted)";
        let expected = Module {
            start: 0x55d0_c000_1000,
            end: 0x55d0_c000_3000,
            file_offset: 0x1000,
            path: "/opt/with space/x".to_owned(),
            replaced: true,
            ..Module::default()
        };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse("7f00-7f10 rw-p 00000000 00:00 0"), None);
        assert_eq!(parse("7f00-7f10 r--p 00000000 08:01 1 /lib/x.so"), None);
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn this_program_is_among_them_with_build_id_and_functions() {
        let here = this_program_is_among_them_with_build_id_and_functions as *const () as u64;
        let modules = loaded();
        let module = modules.iter().find(|module| module.contains(here)).expect("own mapping");
        assert!(module.build_id.len() >= 16, "build id {:?}", module.build_id);
        let name = module.function_at(here + 1).expect("own function");
        assert!(name.contains("this_program_is_among_them_with_build_id_and_functions"), "{name}");
        assert_eq!(module.function_at(module.end), None);
    }
}
