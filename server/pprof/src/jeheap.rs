//! jemalloc's heap dump, format `heap_v2`, parsed and made unbiased.
//!
//! ```text
//! heap_v2/524288
//!   t*: 28: 106 [0: 0]                  all threads: current objects: bytes [accumulated objects: bytes]
//! @ 0x5f1a3c 0x5f2b4d                   a stack, leaf first
//!   t*: 13: 53 [0: 0]
//!   t0: 13: 53 [0: 0]                   the same by thread
//!
//! MAPPED_LIBRARIES:
//! ```

use crate::error::Error;

/// A stack of the dump.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeapStack {
    /// Return addresses, leaf first.
    pub(crate) pcs: Box<[usize]>,
    pub(crate) in_use: Estimate,
    /// Since the profiler was switched on; zero unless jemalloc runs with `prof_accum`.
    pub(crate) accumulated: Estimate,
}

/// Objects and bytes, scaled up from the samples.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Estimate {
    pub(crate) objects: f64,
    pub(crate) bytes: f64,
}

/// The mean bytes between samples, and the stacks.
pub(crate) fn parse(dump: &str) -> Result<(u64, Vec<HeapStack>), Error> {
    let mut lines = dump.lines().enumerate().map(|(index, line)| (index + 1, line));
    let wrong = |line, problem| Error::HeapDump { line, problem };
    let rate = lines
        .next()
        .and_then(|(_, first)| first.strip_prefix("heap_v2/")?.parse().ok())
        .ok_or(wrong(1, "not heap_v2/<sample rate>"))?;
    let mut stacks = Vec::new();
    let mut stack: Option<Box<[usize]>> = None;
    for (number, line) in lines {
        if line.starts_with("MAPPED_LIBRARIES") {
            break;
        }
        if let Some(addresses) = line.strip_prefix('@') {
            let pcs = addresses.split_ascii_whitespace().map(|address| {
                usize::from_str_radix(address.trim_start_matches("0x"), 16)
                    .map_err(|_| wrong(number, "a stack address is not hexadecimal"))
            });
            stack = Some(pcs.collect::<Result<_, _>>()?);
        } else if let Some(sums) = line.trim_start().strip_prefix("t*:") {
            // The one before any stack is the total.
            if let Some(pcs) = stack.take() {
                let sums = numbers(sums).ok_or(wrong(number, "not objects: bytes [objects: bytes]"))?;
                let [objects, bytes, all_objects, all_bytes] = sums;
                stacks.push(HeapStack {
                    pcs,
                    in_use: unbias(objects, bytes, rate),
                    accumulated: unbias(all_objects, all_bytes, rate),
                });
            }
        }
    }
    Ok((rate, stacks))
}

/// `28: 106 [0: 0]`.
fn numbers(text: &str) -> Option<[u64; 4]> {
    let mut numbers = text.split([':', '[', ']', ' ']).filter(|part| !part.is_empty()).map(str::parse);
    let four = [numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?];
    numbers.next().is_none().then_some(four)
}

/// Scales sampled sums up: a block of the stack's mean size `s` was sampled with probability `1 - exp(-s / rate)`. As
/// jeprof does for this format; where sizes within one stack differ widely the mean size biases the object count.
fn unbias(objects: u64, bytes: u64, rate: u64) -> Estimate {
    if objects == 0 || bytes == 0 {
        return Estimate::default();
    }
    let mean = bytes as f64 / objects as f64;
    let scale = if rate <= 1 { 1.0 } else { -1.0 / (-mean / rate as f64).exp_m1() };
    Estimate { objects: objects as f64 * scale, bytes: bytes as f64 * scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_read_and_scaled() {
        let dump = "heap_v2/524288\n  t*: 3: 200 [9: 900]\n  t0: 3: 200 [9: 900]\n@ 0x10 0x20\n  t*: 1: 524288 [2: 32]\n  \
                    t0: 1: 524288 [2: 32]\n@ 0x30\n  t*: 0: 0 [1: 67108864]\n\nMAPPED_LIBRARIES:\n@ 0xbad\n";
        let (rate, stacks) = parse(dump).expect("a dump");
        assert_eq!(rate, 524_288);
        assert_eq!(stacks.len(), 2);
        assert_eq!(*stacks[0].pcs, [0x10, 0x20]);
        assert!((stacks[0].in_use.bytes / 524_288.0 - 1.581_976_7).abs() < 1e-6);
        assert!((stacks[0].accumulated.objects - 2.0 * 32_768.5).abs() < 1.0);
        assert_eq!(stacks[1].in_use, Estimate::default());
        assert!((stacks[1].accumulated.bytes - 67_108_864.0).abs() < 1.0);
    }

    #[test]
    fn what_is_no_dump_is_refused_by_line() {
        for (dump, line) in
            [("", 1), ("heap_v1/1\n", 1), ("heap_v2/1\n@ 0xzz\n", 2), ("heap_v2/1\n@ 0x1\n t*: 1: 2 [3\n", 3)]
        {
            match parse(dump) {
                Err(Error::HeapDump { line: found, .. }) => assert_eq!(found, line, "{dump:?}"),
                other => panic!("{dump:?} gave {other:?}"),
            }
        }
    }
}
