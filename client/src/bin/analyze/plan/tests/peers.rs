//! Plans with servers of other frameworks: which are started, and what can't be asked of them.

use super::{super::*, CPUS};
use crate::{
    cli::{run_args, suite_args},
    config::Config,
};

fn run(flags: &[&str]) -> Result<Plan, String> {
    Plan::of_run(run_args(&[&["--scenario", "128B-50"], flags].concat()), &CPUS).map_err(|error| error.0)
}

fn suite(yaml: &str) -> Plan {
    let config = Config::read("t.yaml", yaml.as_bytes(), None).expect("a config");
    Plan::of_suite(&suite_args(&[]), config, &CPUS).expect("a plan")
}

fn names(plan: &Plan) -> Vec<&'static str> {
    plan.subjects().map(|subject| subject.framework.name()).collect()
}

#[test]
fn a_peer_is_started_as_a_server_of_ours_is() {
    let plan = run(&["--framework", "grpc-go,grpc"]).expect("a plan");
    assert_eq!(names(&plan), ["grpc-go", "grpc", "raw"]);
    assert_eq!(plan.peers().map(|peer| peer.name).collect::<Vec<_>>(), ["grpc-go"]);
    let peer = plan.subjects().next().expect("a subject");
    assert!(peer.is_ours() && peer.profiled);
    assert_eq!(peer.file_stem(&plan.label), "grpc-go_128_protobuf_none_50_unary");
}

#[test]
fn a_peer_that_runs_already_is_not_built() {
    let plan = run(&["--framework", "grpc-go", "--addr", "grpc-go=127.0.0.1:50051"]).expect("a plan");
    assert_eq!((names(&plan), plan.peers().count()), (vec!["grpc-go"], 0));
}

#[test]
fn what_a_peer_does_not_speak_is_refused_with_the_reason() {
    let error = run(&["--framework", "grpc-go,triple", "--serialization", "hessian2"]).expect_err("hessian2");
    assert_eq!(
        error,
        "--serialization hessian2: not with grpc-go: gRPC carries protobuf only: hessian2 and msgpack are arguments in Triple's \
         envelopes; --framework triple leaves it out"
    );
    let plan = suite(
        "frameworks: [triple, grpc-go]\nserializations: [protobuf, hessian2]\npayload_sizes: [128]\nconcurrency_levels: [5]",
    );
    assert_eq!(names(&plan), ["triple", "grpc-go", "raw", "triple"]);
    let refused = plan.refused[0].in_report();
    assert_eq!((&*refused.framework, &*refused.what, plan.refused.len()), ("grpc-go", "hessian2", 1));
}

#[test]
fn a_port_of_a_peer_is_where_one_is_reached_that_runs() {
    let config = "frameworks: grpc-go\nservice: {port: {grpc-go: 50052}}\nservers: {grpc-go: {}}";
    let addr = |plan: &Plan| match plan.subjects().next().map(|subject| &subject.origin) {
        Some(Origin::Attach { addr, .. }) => Some(addr.to_string()),
        _ => None,
    };
    assert_eq!(addr(&suite(config)).as_deref(), Some("127.0.0.1:50052"));
    assert_eq!(addr(&suite(&config.replace("{port: {grpc-go: 50052}}", "{}"))).as_deref(), Some("127.0.0.1:50051"));
    // A port alone attaches to nothing, as ever.
    let started = suite("frameworks: grpc-go\nservice: {port: {grpc-go: 50052}}");
    assert!(started.peers().next().is_some() && started.notes.iter().any(|note| note.contains("takes a free port")));
}

#[test]
fn a_jvm_is_warmed_up_for_longer_and_has_no_profiles() {
    let plan = run(&["--framework", "dubbo-java,triple"]).expect("a plan");
    let [java, ours] = [0, 1].map(|i| &plan.groups[0].subjects[i]);
    assert_eq!((java.warmup, java.first_warmup()), (Duration::from_secs(2), Duration::from_secs(10)));
    assert_eq!(ours.first_warmup(), ours.warmup);
    assert!(!java.profiled && ours.profiled);
    assert_eq!(java.length() - plan.subjects().nth(2).expect("raw").length(), Duration::from_secs(8));
    let plan = run(&["--framework", "dubbo-java", "--warmup", "30s"]).expect("a plan");
    assert_eq!(plan.subjects().next().expect("a subject").first_warmup(), Duration::from_secs(30));
}

#[test]
fn gzip_that_a_peer_does_not_know_is_refused() {
    let error = run(&["--framework", "grpc-go,dubbo-java", "--accept-gzip"]).expect_err("answers plainly");
    assert_eq!(
        error,
        "--accept-gzip: not with dubbo-java: this server answers plainly; --framework grpc-go leaves it out"
    );
    assert!(run(&["--framework", "grpc-go,dubbo-java", "--compression", "default"]).is_ok());
}

#[test]
fn dubbo_go_speaks_hessian2_too() {
    let plan = run(&["--framework", "dubbo-go", "--serialization", "hessian2"]).expect("a plan");
    assert_eq!(
        plan.subjects().next().expect("a subject").file_stem(&plan.label),
        "dubbo-go_128_hessian2_none_50_unary"
    );
    let error = run(&["--framework", "dubbo-go", "--serialization", "msgpack"]).expect_err("msgpack");
    assert_eq!(error, "--serialization msgpack: not with dubbo-go: this server has no service of it");
}

#[test]
fn a_protocol_with_an_encoding_of_its_own_needs_not_be_told() {
    let frameworks = "kitex,kitex-protobuf,kitex-thrift";
    let plan = run(&["--framework", frameworks]).expect("a plan");
    let stems: Vec<String> = plan.subjects().map(|subject| subject.file_stem(&plan.label)).collect();
    assert_eq!(stems[1..3], ["kitex-protobuf_128_protobuf_none_50_unary", "kitex-thrift_128_thrift_none_50_unary"]);
    assert_eq!(plan.subjects().nth(2).expect("thrift").name(), "128B-50 kitex-thrift");
    let plan = run(&["--framework", "dubbo-go,dubbo-go-dubbo"]).expect("a plan");
    let dubbo = plan.subjects().nth(1).expect("Dubbo's own protocol");
    assert_eq!(dubbo.file_stem(&plan.label), "dubbo-go-dubbo_128_hessian2_none_50_unary");
    let error = run(&["--framework", frameworks, "--serialization", "protobuf"]).expect_err("asked for");
    assert_eq!(
        error,
        "--serialization protobuf: not with kitex-thrift: Thrift has an encoding of its own: thrift; --framework kitex,kitex-protobuf \
         leaves it out"
    );
    assert!(run(&["--framework", "kitex-thrift", "--serialization", "thrift"]).is_ok());
    let error = run(&["--framework", "triple", "--serialization", "thrift"]).expect_err("no thrift");
    assert!(error.starts_with("--serialization thrift: not with triple: it is a message of Thrift's calls"), "{error}");
    let lists = "payload_sizes: [128]\nconcurrency_levels: [5]\nframeworks: [kitex, kitex-thrift]\n";
    assert_eq!(names(&suite(lists)), ["kitex", "kitex-thrift", "raw"]);
    let plan = suite(&format!("{lists}serializations: [protobuf, thrift]"));
    assert_eq!(names(&plan), ["kitex", "raw", "kitex-thrift"]);
    assert_eq!(plan.refused.len(), 2);
}

#[test]
fn framed_calls_are_neither_streamed_nor_compressed() {
    for (flags, error) in [
        (
            &["--mode", "streaming"][..],
            "--mode streaming: not with kitex-thrift: its protocol has calls of one message, no streams",
        ),
        (&["--compression", "best"], "--compression best: not with kitex-thrift: this server knows no gzip"),
        (&["--accept-gzip"], "--accept-gzip: not with kitex-thrift: this server answers plainly"),
    ] {
        let refused = run(&[&["--framework", "kitex-thrift,grpc"], flags].concat()).expect_err("refused");
        assert_eq!(refused, format!("{error}; --framework grpc leaves it out"));
    }
}
