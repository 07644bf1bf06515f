//! Results against their published schema, and a store's files against both.

mod results;

use std::{path::Path, time::Duration};

use analyze::{
    compare,
    load::End,
    measure::result::RunResult,
    store::{Artifact, Store, StoreError, load_result},
};
use jsonschema::Validator;
use results::{
    at_a_rate, attached_without_counters, call, full, no_rounds, requested_only, through_nginx, zero_success,
};
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::from_str(include_str!("../result.schema.json")).expect("JSON")
}

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).expect("a schema")
}

fn every_shape() -> Vec<RunResult> {
    let others = [
        requested_only(),
        zero_success(),
        attached_without_counters(),
        no_rounds(),
        at_a_rate(9_000, End::After(Duration::from_secs(1))),
        call(),
    ];
    let [_, via] = through_nginx();
    [full(), others.to_vec(), vec![via]].concat()
}

#[test]
fn the_schema_is_one_itself() {
    assert!(jsonschema::meta::is_valid(&schema()));
}

#[test]
fn results_of_every_shape_are_valid() {
    let validator = validator();
    for result in every_shape() {
        let value = serde_json::to_value(&result).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|e| format!("{} at {}", e, e.instance_path())).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", result.framework);
    }
}

/// Each key of each object, taken away or joined by one that isn't in the schema, must make the result invalid.
#[test]
fn no_key_may_be_missing_and_none_may_be_added() {
    let validator = validator();
    let mut whole = serde_json::to_value(&full()[0]).unwrap();
    let rate = serde_json::to_value(at_a_rate(9_000, End::After(Duration::from_secs(1)))).unwrap();
    whole["call"] = serde_json::to_value(call().call).unwrap();
    for key in ["payload_mix", "slow_calls", "rounds"] {
        // There they hold what is null here.
        whole[key] = rate[key].clone();
    }
    let mut via = serde_json::to_value(&through_nginx()[1]).unwrap();
    via["gateway"]["added"]["response"] = via["gateway"]["added"]["service"].clone();
    whole["gateway"] = via["gateway"].clone();
    whole["rounds"][0]["gateway_processes"] = via["rounds"][0]["gateway_processes"].clone();
    let mut objects = Vec::new();
    object_paths(&whole, String::new(), &mut objects);
    assert!(objects.len() > 30, "{objects:?}");
    for path in objects {
        // Maps by name: their keys are data.
        let maps = ["/environment/crates", "/ops", "/gc", "/sent", "/received"];
        if maps.iter().any(|map| path.ends_with(map)) {
            continue;
        }
        let keys: Vec<String> = whole.pointer(&path).unwrap().as_object().unwrap().keys().cloned().collect();
        let edited = |edit: &dyn Fn(&mut serde_json::Map<String, Value>)| {
            let mut value = whole.clone();
            edit(value.pointer_mut(&path).unwrap().as_object_mut().unwrap());
            validator.is_valid(&value)
        };
        assert!(!edited(&|object| drop(object.insert("surprise".to_owned(), json!(1)))), "{path} takes any key");
        for key in keys {
            assert!(!edited(&|object| drop(object.remove(&key))), "{path}/{key} may be missing");
        }
    }
}

fn object_paths(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                object_paths(value, format!("{path}/{key}"), found);
            }
            found.push(path);
        }
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(at, value)| object_paths(value, format!("{path}/{at}"), found));
        }
        _ => {}
    }
}

#[test]
fn every_key_of_the_schema_is_described() {
    fn check(value: &Value, path: &str) {
        for (key, property) in value.get("properties").and_then(Value::as_object).into_iter().flatten() {
            assert!(property.get("description").is_some_and(Value::is_string), "{path}/{key} has no description");
            check(property, &format!("{path}/{key}"));
        }
    }
    let schema = schema();
    check(&schema, "");
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        check(definition, name);
    }
}

#[test]
fn a_store_writes_what_the_schema_says_and_reads_it_back() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::open(root.path(), "t".parse().unwrap()).unwrap();
    let validator = validator();
    for mut result in every_shape() {
        store.keep(Artifact::CpuProfile, &mut result, b"profile").unwrap();
        store.enter(Artifact::ServerLog, &mut result);
        let path = store.save(&result).unwrap();
        let value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert!(validator.is_valid(&value));
        assert_eq!(load_result(&path).unwrap(), result);
        let profile = path.parent().unwrap().join(result.files.cpu_profile.unwrap());
        assert_eq!(std::fs::read(profile).unwrap(), b"profile", "paths are relative to the JSON");
    }
    let names = |folder: &str| {
        let mut names: Vec<String> = std::fs::read_dir(root.path().join(folder))
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let usual = ["grpc_128", "raw_128", "triple_128", "triple_128x80-1024x20"].map(|of| {
        let rate = if of.contains('x') { "_q10000" } else { "" };
        format!("{of}_protobuf_none_50_unary{rate}")
    });
    let call = "call-my.Greeter-SayHello_0_protobuf_none_50_server_streaming".to_owned();
    let via = "triple_128_protobuf_none_50_unary_via-nginx".to_owned();
    let stems = [&[call], &usual[..3], &[via], &usual[3..]].concat();
    let named = |suffix: &str| stems.iter().map(|stem| format!("{stem}{suffix}")).collect::<Vec<_>>();
    assert_eq!(names("data/t"), named(".json"), "nothing half written is left");
    assert_eq!(names("profiles/t"), named(".cpu.pb.gz"));
}

/// Keys that results didn't have at first, at any depth.
const LATER: [&str; 2] = ["wire_use", "opening_frames"];

#[test]
fn results_from_before_the_wire_was_counted_are_read() {
    fn without(value: &mut Value, taken: &mut usize) {
        match value {
            Value::Object(object) => {
                *taken += LATER.iter().filter(|key| object.remove(**key).is_some()).count();
                object.values_mut().for_each(|value| without(value, taken));
            }
            Value::Array(values) => values.iter_mut().for_each(|value| without(value, taken)),
            _ => {}
        }
    }
    let result = &full()[0];
    let (mut older, mut taken) = (serde_json::to_value(result).unwrap(), 0);
    without(&mut older, &mut taken);
    assert_eq!(taken, 5, "of the result, its wire and its three rounds");
    let older: RunResult = serde_json::from_value(older).unwrap();
    assert_eq!((&older.wire_use, older.figures), (&None, result.figures));
    assert!(older.rounds.iter().all(|round| round.wire_use.is_none()));
    assert_eq!(compare::differences(&older, result), [], "what isn't recorded is no difference");
}

#[test]
fn latest_leads_to_the_newest_run() {
    let root = tempfile::tempdir().unwrap();
    for label in ["a", "b"] {
        Store::open(root.path(), label.parse().unwrap()).unwrap().link_latest().unwrap();
        for folder in ["data", "profiles", "flamegraphs", "logs"] {
            assert_eq!(std::fs::read_link(root.path().join(folder).join("latest")).unwrap(), Path::new(label));
        }
    }
}

#[test]
fn what_cannot_be_written_is_named() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Store::open(&file, "t".parse().unwrap()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("can't write {}", file.join("data/t").display())), "{error}");

    let store = Store::open(root.path(), "t".parse().unwrap()).unwrap();
    std::fs::create_dir(root.path().join("profiles/latest")).unwrap();
    let error = store.link_latest().unwrap_err().to_string();
    assert!(error.contains("profiles/latest"), "{error}");
    assert_eq!(std::fs::read_dir(root.path().join("profiles")).unwrap().count(), 2, "no other link is left");
}

#[test]
fn what_is_no_result_is_named() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.json");
    assert!(matches!(load_result(&path), Err(StoreError::Read { .. })));
    std::fs::write(&path, "{}").unwrap();
    let error = load_result(&path).unwrap_err();
    assert!(matches!(error, StoreError::Format { .. }) && error.to_string().contains("schema_version"), "{error}");
}
