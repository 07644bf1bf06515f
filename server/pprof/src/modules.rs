//! The object files mapped into this process: what an address in a profile belongs to.

use std::{fs, path::Path};

use object::Object;

/// An executable mapping, as `/proc/self/maps` has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Module {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) file_offset: u64,
    pub(crate) path: String,
    /// Lower-case hexadecimal; empty when the file has none.
    pub(crate) build_id: String,
}

/// The executable mappings of this process, by address. Reads each file's headers for its build id.
pub(crate) fn loaded() -> Vec<Module> {
    // Without /proc the profile has no mappings, which pprof allows.
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut modules: Vec<Module> = maps.lines().filter_map(parse).collect();
    for module in &mut modules {
        module.build_id = build_id(&module.path).unwrap_or_default();
    }
    modules
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
        path: path.trim_end_matches(" (deleted)").to_owned(),
        build_id: String::new(),
    })
}

fn build_id(path: &str) -> Option<String> {
    if !Path::new(path).is_absolute() {
        return None;
    }
    let data = fs::read(path).ok()?;
    let file = object::File::parse(&*data).ok()?;
    let id = file.build_id().ok()??;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
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
            build_id: String::new(),
        };
        assert_eq!(parse(line), Some(expected));
        assert_eq!(parse("7f00-7f10 rw-p 00000000 00:00 0"), None);
        assert_eq!(parse("7f00-7f10 r--p 00000000 08:01 1 /lib/x.so"), None);
        assert_eq!(parse("nonsense"), None);
    }

    #[test]
    fn this_program_is_among_them_and_has_a_build_id() {
        let here = this_program_is_among_them_and_has_a_build_id as *const () as u64;
        let modules = loaded();
        let module = modules.iter().find(|m| (m.start..m.end).contains(&here)).expect("own mapping");
        assert!(module.build_id.len() >= 16, "{module:?}");
    }
}
