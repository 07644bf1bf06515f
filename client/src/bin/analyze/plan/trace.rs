//! The plan of `analyze trace`: the flags of a measurement, with one call at a time.

use std::time::Duration;

use super::{Origin, Plan, UsageError, cases::read};
use crate::{
    cli::{CallArgs, Format, LoadArgs, OutputArgs, RunArgs, TraceArgs, TraceFormat, ViaArgs},
    values,
};

/// The most requests of a log: more than a server's log has room for, but for the smallest requests.
const MOST_REQUESTS: u64 = 100_000;

/// What is traced, and how.
#[derive(Debug)]
pub(crate) struct TracePlan {
    /// Its subjects are traced one after another; they have no rounds.
    pub(crate) plan: Plan,
    /// Requests in each log.
    pub(crate) requests: u64,
    /// After each of them.
    pub(crate) pause: Duration,
    pub(crate) format: TraceFormat,
}

impl TracePlan {
    /// Of the flags; `allowed` are the CPUs that may be used.
    pub(crate) fn of(args: TraceArgs, allowed: &[u32]) -> Result<Self, UsageError> {
        let requests = read("--requests", &args.requests, values::whole(2..=MOST_REQUESTS))?;
        let pause = read("--pause", &args.pause, values::trace_pause)?;
        let format = args.format;
        let plan = Plan::of_run(run_args(args), allowed)?;
        for subject in plan.subjects() {
            let scenario = subject.case.scenario;
            if scenario.concurrency != 1 {
                return Err(UsageError(format!(
                    "--scenario {scenario}: must have one call in flight, as {}-1: of several at a time nobody can tell which \
                     allocated what",
                    scenario.payload
                )));
            }
            if let Origin::Attach { debug: None, .. } = subject.origin {
                let framework = subject.framework;
                return Err(UsageError(format!(
                    "--addr {framework}=…: needs --debug {framework}=http://HOST:PORT, the server's debug endpoints, which have its \
                     log"
                )));
            }
        }
        Ok(Self { plan, requests, pause, format })
    }
}

/// A run of the same servers and requests.
fn run_args(args: TraceArgs) -> RunArgs {
    RunArgs {
        sent: args.sent,
        call: CallArgs::default(),
        load: LoadArgs {
            rounds: "1".to_owned(),
            warmup: args.warmup,
            duration: None,
            requests: Some(args.requests),
            qps: None,
            think: Some(args.pause),
            connections: None,
            pool: false,
            mux: false,
            timeout: "30s".to_owned(),
            connect_timeout: "5s".to_owned(),
        },
        servers: args.servers,
        via: ViaArgs::default(),
        machine: args.machine,
        output: OutputArgs {
            no_profiles: true,
            no_roofline: true,
            label: args.label,
            out: args.out,
            format: Format::Table,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    fn plan(flags: &[&str]) -> Result<TracePlan, String> {
        TracePlan::of(cli::trace_args(flags), &[0, 1]).map_err(|error| error.to_string())
    }

    #[test]
    fn one_call_at_a_time_is_traced() {
        let of = plan(&["--scenario", "128B-1,1MiB-1", "--requests", "50", "--pause", "7ms"]).expect("a plan");
        assert_eq!((of.requests, of.pause, of.plan.subjects().count()), (50, Duration::from_millis(7), 4));
        let error = plan(&["--scenario", "128B-50"]).expect_err("several at a time");
        assert!(error.starts_with("--scenario 128B-50: must have one call in flight, as 128B-1"), "{error}");
        for (flag, value) in [("--requests", "1"), ("--requests", "x"), ("--pause", "0s"), ("--pause", "2h")] {
            let error = plan(&["--scenario", "128B-1", flag, value]).expect_err("not allowed");
            assert!(error.starts_with(&format!("{flag}: ")) && error.contains(value), "{error}");
        }
    }

    #[test]
    fn a_server_that_runs_already_needs_its_debug_endpoints() {
        let attached = ["--scenario", "128B-1", "--framework", "grpc", "--addr", "grpc=127.0.0.1:50051"];
        let error = plan(&attached).expect_err("no log");
        assert!(error.starts_with("--addr grpc=…: needs --debug grpc=http://HOST:PORT"), "{error}");
        assert!(plan(&[&attached[..], &["--debug", "grpc=http://127.0.0.1:8001"]].concat()).is_ok());
    }
}
