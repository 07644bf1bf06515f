//! How far off the sums of a sampled allocation profile may be.

use crate::measure::result::Sampling;

use super::Profile;

/// The standard errors of a profile's sums, by Horvitz and Thompson's estimator of them. An object of `size` bytes is sampled with the
/// probability `p = 1 − exp(−size ÷ period)` and stands for `1 ÷ p` objects; a sum of such has the variance
/// `Σ value × (1 − p) ÷ p`, with bytes for values `× size` once more. `None` when every allocation is in the profile, or
/// it isn't one of memory.
pub(super) fn sampling(profile: &Profile) -> Option<Sampling> {
    let period_bytes = profile.sampling_period()?;
    let space = profile.type_index(Some("alloc_space")).ok()?;
    let objects = profile.type_index(Some("alloc_objects")).ok()?;
    let (mut bytes, mut allocs) = (Estimate::default(), Estimate::default());
    for (_, values) in profile.samples() {
        let (of_bytes, of_allocs) = (values[space] as f64, values[objects] as f64);
        if of_bytes > 0.0 && of_allocs > 0.0 {
            let size = of_bytes / of_allocs;
            let p = -(-size / period_bytes as f64).exp_m1();
            bytes.add(of_bytes, size * (1.0 - p) / p);
            allocs.add(of_allocs, (1.0 - p) / p);
        }
    }
    Some(Sampling { period_bytes, bytes_error: bytes.error(), allocs_error: allocs.error() })
}

#[derive(Default)]
struct Estimate {
    sum: f64,
    variance: f64,
}

impl Estimate {
    fn add(&mut self, value: f64, variance_each: f64) {
        self.sum += value;
        self.variance += value * variance_each;
    }

    /// Relative to the sum.
    fn error(&self) -> Option<f64> {
        (self.sum > 0.0).then(|| self.variance.sqrt() / self.sum)
    }
}

#[cfg(test)]
mod tests {
    use echo_proto::profile as proto;

    use super::*;

    const PERIOD: i64 = 524_288;

    /// A profile of such objects and bytes, scaled as Go scales them.
    fn profile(period: i64, samples: &[(f64, f64)]) -> Profile {
        let strings = ["", "alloc_objects", "count", "alloc_space", "bytes", "space"];
        let value_type = |r#type: i64, unit: i64| proto::ValueType { r#type, unit };
        Profile::check_valid(proto::Profile {
            sample_type: vec![value_type(1, 2), value_type(3, 4)],
            string_table: strings.map(str::to_owned).to_vec(),
            period_type: Some(value_type(5, 4)),
            period,
            sample: samples
                .iter()
                .map(|(objects, size)| proto::Sample {
                    value: vec![objects.round() as i64, (objects * size).round() as i64],
                    ..proto::Sample::default()
                })
                .collect(),
            ..proto::Profile::default()
        })
        .expect("sound")
    }

    #[test]
    fn a_profile_of_every_allocation_has_no_error() {
        assert_eq!(sampling(&profile(1, &[(10.0, 64.0)])), None);
        assert_eq!(sampling(&profile(0, &[(10.0, 64.0)])), None);
        let nothing = sampling(&profile(PERIOD, &[])).expect("sampled");
        assert_eq!((nothing.bytes_error, nothing.allocs_error), (None, None));
    }

    /// A thousand programs that allocate the same, each sampled anew: their sums spread as far as each says.
    #[test]
    fn sums_spread_as_far_as_the_error_says() {
        let allocated = [(400_000_u32, 64.0), (20_000, 1_024.0), (300, 1_048_576.0)];
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut uniform = || {
            // xorshift64*
            random ^= random >> 12;
            random ^= random << 25;
            random ^= random >> 27;
            (random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut sums, mut errors) = (Vec::new(), Vec::new());
        for _ in 0..1_000 {
            let samples = allocated.map(|(count, size)| {
                let p = 1.0 - (-size / PERIOD as f64).exp();
                // The gaps between samples, in objects, are geometric.
                let (mut at, mut sampled) = (0.0, 0_u32);
                loop {
                    at += (uniform().ln() / (1.0 - p).ln()).floor() + 1.0;
                    if at > f64::from(count) {
                        break;
                    }
                    sampled += 1;
                }
                (f64::from(sampled) / p, size)
            });
            let sampling = sampling(&profile(PERIOD, &samples)).expect("sampled");
            sums.push(
                samples
                    .map(|(objects, size)| [objects, objects * size])
                    .iter()
                    .fold([0.0, 0.0], |sum, of| [sum[0] + of[0], sum[1] + of[1]]),
            );
            errors.push([sampling.allocs_error.expect("objects"), sampling.bytes_error.expect("bytes")]);
        }
        let whole = allocated
            .iter()
            .fold([0.0, 0.0], |sum, (count, size)| [sum[0] + f64::from(*count), sum[1] + f64::from(*count) * size]);
        for (at, whole) in whole.into_iter().enumerate() {
            let mean = sums.iter().map(|sum| sum[at]).sum::<f64>() / sums.len() as f64;
            let variance = sums.iter().map(|sum| (sum[at] - mean).powi(2)).sum::<f64>() / (sums.len() - 1) as f64;
            let (spread, said) =
                (variance.sqrt() / whole, errors.iter().map(|error| error[at]).sum::<f64>() / errors.len() as f64);
            assert!((mean / whole - 1.0).abs() < 0.01, "{at}: {mean} of {whole}");
            assert!((said / spread - 1.0).abs() < 0.1, "{at}: ±{said}, but they spread by ±{spread}");
        }
    }
}
