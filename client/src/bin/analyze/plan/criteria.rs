//! When a difference is a verdict, from the flags.

use analyze::{
    compare::{Criteria, Smallest},
    store::load_noise,
};

use super::UsageError;
use crate::cli::{CriteriaArgs, SizeArgs};

impl CriteriaArgs {
    pub(crate) fn read(&self) -> Result<Criteria, UsageError> {
        Ok(Criteria { alpha: self.alpha, smallest: self.size.read()? })
    }
}

impl SizeArgs {
    pub(crate) fn read(&self) -> Result<Smallest, UsageError> {
        let default = Smallest::default();
        let (counts, times) = self.smallest.unwrap_or_default();
        let load = |path| load_noise(path).map_err(|error| UsageError(format!("--noise: {error}")));
        Ok(Smallest {
            counts: counts.unwrap_or(default.counts),
            times: times.unwrap_or(default.times),
            noise: self.noise.as_deref().map(load).transpose()?,
        })
    }
}
