//! Plans of calls through a gateway.

use super::{super::*, CPUS};
use crate::cli::run_args;

const ATTACHED: [&str; 8] = [
    "--scenario",
    "128B-50,1MiB-10",
    "--framework",
    "grpc,raw",
    "--addr",
    "grpc=127.0.0.1:50051",
    "--via",
    "127.0.0.1:8080",
];

#[test]
fn each_server_of_http2_is_called_directly_and_through_it() {
    let plan = Plan::of_run(run_args(&ATTACHED), &CPUS).expect("a plan");
    let names: Vec<String> = plan.groups[0].subjects.iter().map(Subject::name).collect();
    assert_eq!(names, ["128B-50 grpc", "128B-50 grpc via 127.0.0.1:8080", "128B-50 raw"]);
    assert_eq!(plan.groups.len(), 2);
    let [direct, via, _] = &plan.groups[0].subjects[..] else { panic!("{plan:?}") };
    assert_eq!(via.file_stem(&plan.label), direct.file_stem(&plan.label) + "_via-running");
}

#[test]
fn only_what_is_started_has_cpus_of_its_own() {
    let refused =
        |flags: &[&str]| Plan::of_run(run_args(&[&ATTACHED[..], flags].concat()), &CPUS).expect_err("wrong").0;
    assert_eq!(
        refused(&["--via-cpus", "1"]),
        "--via-cpus 1: goes with --via nginx or envoy; one that runs already has its own"
    );
    assert!(refused(&["--via-cpus", "x"]).starts_with("--via-cpus: \"x\": must be CPU numbers"));
}
