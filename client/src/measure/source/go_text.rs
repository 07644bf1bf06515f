//! The counters of a Go program with `net/http/pprof` but without `expvar`: its `MemStats` stand at the end of an allocation
//! profile that is asked for as text.

use super::{CounterSource, vars::MemStats};
use crate::measure::result::{ServerReading, SourceKind};

/// The line before them.
const HEAD: &str = "\n# runtime.MemStats\n";

/// `/debug/pprof/allocs?debug=1`, or `heap`: the same text. The statistics are read before the text is made, so that what making it
/// allocates is in the next reading.
#[derive(Debug)]
pub(super) struct GoText(&'static str);

impl GoText {
    pub(super) const ALLOCS: Self = Self("/debug/pprof/allocs?debug=1");
    /// For a program that has routes for some profiles only.
    pub(super) const HEAP: Self = Self("/debug/pprof/heap?debug=1");
}

impl CounterSource for GoText {
    fn kind(&self) -> SourceKind {
        SourceKind::GoPprof
    }

    fn path(&self) -> &'static str {
        self.0
    }

    fn reading(&self, answer: &[u8]) -> Result<ServerReading, String> {
        let stats = mem_stats(answer).ok_or("it has no runtime.MemStats")?;
        Ok(ServerReading { counters: Some(stats.counters()?), gc: stats.gc(), ..ServerReading::default() })
    }
}

/// Lines of the form `# Mallocs = 123`. The pauses are those of the last 256 collections, not their sum, and are left out.
fn mem_stats(answer: &[u8]) -> Option<MemStats> {
    let at = answer.windows(HEAD.len()).rposition(|window| window == HEAD.as_bytes())?;
    let text = String::from_utf8_lossy(&answer[at + HEAD.len()..]);
    let value = |name: &str| {
        let values = text.lines().filter_map(|line| line.strip_prefix("# ")?.split_once(" = "));
        values.into_iter().find(|(key, _)| *key == name).and_then(|(_, value)| value.trim_end().parse::<u64>().ok())
    };
    Some(MemStats {
        total_alloc: value("TotalAlloc"),
        mallocs: value("Mallocs"),
        frees: value("Frees"),
        num_gc: value("NumGC"),
        pause_total_ns: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::result::GcCounts;

    /// As Go 1.26 wrote it for a gRPC server after two collections; all records but the first are cut out. Go 1.21's sources write
    /// the same lines.
    const GO_1_26: &[u8] = include_bytes!("samples/go1.26_allocs_debug1.txt");

    #[test]
    fn mem_stats_are_read_from_a_profile_in_text() {
        let reading = GoText::ALLOCS.reading(GO_1_26).expect("Go's");
        let counters = reading.counters.expect("counters");
        assert_eq!(
            (counters.usable_bytes, counters.allocs, counters.frees),
            (Some(3_234_320), Some(4_389), Some(2_694))
        );
        assert_eq!((counters.requested_bytes, counters.reallocs, reading.ops), (None, None, None));
        assert_eq!(reading.gc.expect("gc")["go"], GcCounts { collections: 2, time_ns: None });
    }

    #[test]
    fn a_text_that_is_cut_or_another_has_none() {
        let head = GO_1_26.windows(HEAD.len()).position(|window| window == HEAD.as_bytes()).expect("the line");
        assert!(GoText::HEAP.reading(&GO_1_26[..head]).is_err());
        // Only what stands below the line counts.
        assert!(GoText::HEAP.reading(b"# TotalAlloc = 5\n# Mallocs = 1\n# Frees = 0\n").is_err());
        for (text, problem) in [
            ("\n# runtime.MemStats\n# TotalAlloc = 5\n# Mallocs = x\n# Frees = 0\n", "its MemStats have no Mallocs"),
            ("\n# runtime.MemStats\n# Mallocs = 5\n# Frees = 0\n", "its MemStats have no TotalAlloc"),
        ] {
            assert_eq!(GoText::HEAP.reading(text.as_bytes()).expect_err(text), problem);
        }
    }
}
