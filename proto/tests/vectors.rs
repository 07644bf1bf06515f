//! Every line of `vectors/`: decoded, it is the value of its name; encoded again, it is Java's bytes.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

mod support;

use bytes::Bytes;
use echo_proto::hessian2::{Binary, Decoder, Encoder, Map, Value};
use support::{
    hessian::{before_pair, binary, class, list, map, object, reference_binary, reference_string, string, typed_list},
    hex,
};

const LITE: &str = include_str!("vectors/hessian-lite.tsv");
const GO: &str = include_str!("vectors/hessian-go.tsv");
/// Chunks of Java's binaries and strings, and Go's of both.
const LITE_CHUNKS: Chunks = Chunks { binary: 8189, string: 0x8000 };
const GO_CHUNKS: Chunks = Chunks { binary: 4096, string: 4096 };
const LITE_LINES: usize = 111;
const GO_LINES: usize = 64;
/// 2021-01-01T00:00Z in milliseconds.
const NEW_YEAR: i64 = 1_609_459_200_000;

struct Chunks {
    binary: usize,
    string: usize,
}

/// A line of a file.
struct Vector {
    name: &'static str,
    len: usize,
    bytes: &'static str,
}

fn vectors(file: &'static str) -> Vec<Vector> {
    let vector = |line: &'static str| {
        let [name, len, bytes] = line.split('\t').collect::<Vec<_>>().try_into().expect(line);
        Vector { name, len: len.parse().expect(line), bytes: bytes.trim_end() }
    };
    file.lines().map(vector).collect()
}

impl Vector {
    /// Whether these are the bytes, as far as the line gives them.
    fn is(&self, bytes: &[u8]) -> bool {
        let (front, back) = self.bytes.split_once("...").unwrap_or((self.bytes, ""));
        let (front, back) = (hex(front), hex(back));
        let whole = back.is_empty() && bytes == front;
        let ends = !back.is_empty() && bytes.starts_with(&front) && bytes.ends_with(&back);
        bytes.len() == self.len && (whole || ends)
    }

    /// The bytes, whose middle `filled` must give if the line leaves it out.
    fn bytes(&self, filled: impl FnOnce() -> Vec<u8>) -> Bytes {
        let bytes = if self.bytes.contains("...") { filled().into() } else { hex(self.bytes) };
        assert!(self.is(&bytes), "{}: the bytes put together by the test are not the vector's", self.name);
        bytes
    }
}

fn decode(bytes: &Bytes) -> Vec<Value> {
    let pieces = [bytes.clone()];
    let mut decoder = Decoder::new(&pieces);
    let mut values = Vec::new();
    while decoder.remaining() > 0 {
        values.push(decoder.value().unwrap_or_else(|error| panic!("{error}: {}", shown(bytes))));
    }
    values
}

fn encode(values: &[Value]) -> Bytes {
    let mut encoder = Encoder::default();
    values.iter().for_each(|value| encoder.value(value).unwrap());
    encoder.finish()
}

/// As much as a person would read.
fn shown(it: &impl std::fmt::Debug) -> String {
    format!("{it:?}").chars().take(1000).collect()
}

/// Equal, where two NaN are.
fn same(a: &[Value], b: &[Value]) -> bool {
    let is_nan = |values: &[Value]| matches!(values, [Value::Double(it)] if it.is_nan());
    a == b || (is_nan(a) && is_nan(b))
}

#[test]
fn hessian_lite() {
    let vectors = vectors(LITE);
    assert_eq!(vectors.len(), LITE_LINES);
    for vector in vectors {
        let name = vector.name;
        if name == "bin 20000 chunks" {
            let chunks = encode(&[binary(&[0; 20_000])]);
            assert_eq!(chunk_layout(&chunks), vector.bytes);
            assert_eq!(chunks.len(), vector.len);
            continue;
        }
        let values = lite_values(name);
        let bytes = vector.bytes(|| filled(name, &values, &LITE_CHUNKS));
        assert!(same(&decode(&bytes), &values), "{name}: decoded {}", shown(&decode(&bytes)));
        assert!(vector.is(&encode(&values)), "{name}: encoded {}", shown(&encode(&values)));
    }
}

#[test]
fn dubbo_go_hessian2() {
    let vectors = vectors(GO);
    assert_eq!(vectors.len(), GO_LINES);
    for vector in vectors {
        let name = vector.name;
        let values = go_values(name);
        let bytes = vector.bytes(|| filled(name, &values, &GO_CHUNKS));
        assert!(decode(&bytes) == values, "{name}: decoded {}", shown(&decode(&bytes)));
        assert!(decode(&encode(&values)) == values, "{name}: re-encoded {}", shown(&encode(&values)));
    }
}

/// Code, length and offset of each chunk of an encoded byte array.
fn chunk_layout(bytes: &[u8]) -> String {
    let (mut layout, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let len = u16::from_be_bytes([bytes[at + 1], bytes[at + 2]]);
        layout.push(format!("{:02x}/len{len}@{at}", bytes[at]));
        at += 3 + usize::from(len);
    }
    layout.join(" ")
}

/// All bytes of a vector whose line leaves out the middle, by an encoder that is not the one under test.
fn filled(name: &str, values: &[Value], chunks: &Chunks) -> Vec<u8> {
    match (name, values) {
        (_, [Value::String(text)]) => {
            let units: Vec<u16> = text.encode_utf16().collect();
            reference_string(&units, |left| before_pair(left, chunks.string))
        }
        (_, [Value::Binary(Binary(pieces))]) => {
            reference_binary(&pieces.concat(), |left| chunks.binary.min(left.len()))
        }
        ("User,User(two objs)", _) => {
            let user = hex(line(LITE, "User"));
            let list = b"q\x1ajava.util.Arrays$ArrayList";
            let at = user.windows(list.len()).position(|it| it == list).unwrap();
            // The class is known by then, and so is the type of the list.
            [&user[..], b"\x60q\x90", &user[at + list.len()..]].concat()
        }
        ("RuntimeException (first 48B)", _) => hex(line(LITE, "RuntimeException full")).to_vec(),
        ("[]*User", _) => {
            let user = hex(line(GO, "User"));
            [b"V\x1d[org.apache.dubbo.sample.User\x92", &user[..], b"Q\x91"].concat()
        }
        _ => panic!("{name}: what was left out is not known"),
    }
}

fn line(file: &'static str, name: &str) -> &'static str {
    vectors(file).into_iter().find(|vector| vector.name == name).unwrap().bytes
}

/// The values that a name of either file gives by a rule.
fn plain_value(name: &str) -> Option<Value> {
    let (kind, rest) = name.split_once(' ').unwrap_or((name, ""));
    Some(match kind {
        "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "int" | "int32" | "short" | "byte" => Value::Int(rest.parse().unwrap()),
        "long" | "int64" => Value::Long(rest.parse().unwrap()),
        "double" | "float" | "f64" => Value::Double(rest.parse().unwrap()),
        "str" => match rest.split_once(" x ").unwrap_or((rest, "")) {
            ("empty", _) => string(""),
            ("hello", _) => string("hello"),
            ("zh" | "zh 中文", _) => string("中文"),
            ("latin é", _) => string("é"),
            ("emoji" | "emoji U+1F600", _) => string("😀"),
            ("emoji at 32767/8 boundary", _) => string(&("a".repeat(32_767) + "😀b")),
            (count, "a" | "") => string(&"a".repeat(count.parse().unwrap())),
            (count, "emoji") => string(&"😀".repeat(count.parse().unwrap())),
            _ => return None,
        },
        "bin" => binary(&vec![0; rest.parse().unwrap()]),
        _ => return None,
    })
}

fn lite_values(name: &str) -> Vec<Value> {
    let ints = |values: std::ops::RangeInclusive<i32>| list(values.map(Value::Int));
    let entries = |key: &str, value| vec![(string(key), value)];
    let typed_map =
        |name: &'static str| Value::Map(Map { type_name: Some(name.into()), entries: entries("k", Value::Int(1)) });
    let user = || {
        let fields = ["l", "b", "d", "w", "ok", "t", "age", "name", "id"];
        let values = [
            typed_list("java.util.Arrays$ArrayList", [string("a")]),
            binary(&[1, 2]),
            Value::Date(NEW_YEAR),
            Value::Double(1.5),
            Value::Bool(true),
            Value::Long(5),
            Value::Int(18),
            string("tc"),
            string("1"),
        ];
        object(&class("Vec$User", fields), values)
    };
    let one = match name {
        // The sign of zero does not get through.
        "double -0.0" => Value::Double(0.0),
        "char x" => string("x"),
        "bin 3" => binary(&[1, 2, 3]),
        "date 2021-01-01T00:00:00Z (minute)" => Value::Date(NEW_YEAR),
        "date +1ms" => Value::Date(NEW_YEAR + 1),
        "ArrayList[]" => list([]),
        "ArrayList[1,2]" => ints(1..=2),
        "ArrayList 7" => ints(1..=7),
        "ArrayList 8" => ints(1..=8),
        "Arrays.asList(a)" => typed_list("java.util.Arrays$ArrayList", [string("a")]),
        "LinkedList[1]" => typed_list("java.util.LinkedList", [Value::Int(1)]),
        "int[]{1,2}" => typed_list("[int", [Value::Int(1), Value::Int(2)]),
        "String[]{a,b}" => typed_list("[string", [string("a"), string("b")]),
        "Object[]{1,a}" => typed_list("[object", [Value::Int(1), string("a")]),
        "HashSet[1]" => typed_list("java.util.HashSet", [Value::Int(1)]),
        "HashMap {}" => map([]),
        "HashMap {k:v}" => map(entries("k", string("v"))),
        "LinkedHashMap {k:1}" => typed_map("java.util.LinkedHashMap"),
        "TreeMap {k:1}" => typed_map("java.util.TreeMap"),
        "User" => user(),
        "User,User(two objs)" => return vec![user(), user()],
        "User,same(ref)" => return vec![user(), Value::Reference(0)],
        "enum GREEN" => object(&class("Vec$Color", ["name"]), [string("GREEN")]),
        "BigDecimal 1.5" => object(&class("java.math.BigDecimal", ["intVal", "scale"]), [Value::Null, Value::Int(1)]),
        "UUID" => {
            let fields = ["leastSigBits", "mostSigBits"];
            object(&class("java.util.UUID", fields), [Value::Long(2), Value::Long(1)])
        }
        "self list (ref 0)" => list([Value::Reference(0)]),
        "RuntimeException (first 48B)" | "RuntimeException full" => runtime_exception(),
        "BenchmarkRequest{payload=010203} (java)" => {
            let class = class("org.apache.dubbo.benchmark.BenchmarkRequest", ["payload"]);
            object(&class, [binary(&[1, 2, 3])])
        }
        "java-style request body echo(hello)" => {
            let texts = ["2.0.2", "com.x.Echo", "0.0.0", "echo", "Ljava/lang/String;", "hello"];
            let attachments = map(entries("path", string("com.x.Echo")));
            return texts.into_iter().map(string).chain([attachments]).collect();
        }
        _ => plain_value(name).unwrap_or_else(|| panic!("{name}: what value this is, is not known")),
    };
    vec![one]
}

fn runtime_exception() -> Value {
    let frame = class(
        "java.lang.StackTraceElement",
        [
            "format",
            "lineNumber",
            "fileName",
            "methodName",
            "declaringClass",
            "moduleVersion",
            "moduleName",
            "classLoaderName",
        ],
    );
    let frame = object(
        &frame,
        [
            Value::Int(1),
            Value::Int(27),
            string("Vec.java"),
            string("main"),
            string("Vec"),
            Value::Null,
            Value::Null,
            string("app"),
        ],
    );
    let fields = ["suppressedExceptions", "stackTrace", "cause", "detailMessage"];
    object(
        &class("java.lang.RuntimeException", fields),
        [
            typed_list("java.util.Collections$EmptyList", []),
            typed_list("[java.lang.StackTraceElement", [frame]),
            Value::Reference(0),
            string("boom"),
        ],
    )
}

fn go_values(name: &str) -> Vec<Value> {
    let user = || {
        let class = class("org.apache.dubbo.sample.User", ["iD", "name", "age", "time"]);
        object(&class, [string("1"), string("tc"), Value::Int(18), Value::Date(NEW_YEAR)])
    };
    let one = match name {
        "time minute" => Value::Date(NEW_YEAR),
        "time ms" => Value::Date(NEW_YEAR + 1),
        "[]any{1,a}" => list([Value::Int(1), string("a")]),
        "[]string" => typed_list("[string", [string("a"), string("b")]),
        "[]int32" => typed_list("[int", [Value::Int(1), Value::Int(2)]),
        "map" | "map[string]string" => map([(string("k"), string("v"))]),
        "User" => user(),
        "User,same" => return vec![user(), Value::Reference(0)],
        "[]*User" => typed_list("[org.apache.dubbo.sample.User", [user(), Value::Reference(1)]),
        _ => plain_value(name).unwrap_or_else(|| panic!("{name}: what value this is, is not known")),
    };
    vec![one]
}
