//! The program `echo-server`: its ready line, its exit codes, its signals.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails where it should")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_echo-server");

struct Running {
    child: Child,
    ready: Value,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .args(["--addr", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { ready: serde_json::from_str(&line).unwrap(), child }
    }

    fn addr(&self) -> &str {
        self.ready["addr"].as_str().unwrap()
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: sends a signal to a child that has not been waited for, so the id is still its own.
        assert_eq!(unsafe { libc::kill(self.child.id() as libc::pid_t, signal) }, 0);
    }

    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (code, log)
    }
}

#[test]
fn the_ready_line_says_where_and_how() {
    let server = Running::start(&["triple", "--debug-addr", "127.0.0.1:0", "--workers", "3", "--accept-gzip"]);
    let ready = &server.ready;
    assert_eq!((&ready["ready"], &ready["framework"]), (&true.into(), &"triple".into()));
    assert_eq!((&ready["pid"], &ready["workers"]), (&server.child.id().into(), &3.into()));
    assert!(!ready["cpus"].as_array().unwrap().is_empty());
    let settings = &ready["settings"];
    assert_eq!(settings["max_frame_size"], 1 << 20);
    assert_eq!(settings["stream_window"], 4 << 20);
    assert_eq!(settings["connection_window"], 16 << 20);
    assert_eq!((&settings["accept_gzip"], &settings["gzip_level"]), (&true.into(), &6.into()));
    assert_eq!((&settings["response_size"], &settings["sleep_ms"]), (&Value::Null, &Value::Null));
    TcpStream::connect(server.addr()).unwrap();

    let debug = ready["debug_addr"].as_str().unwrap().strip_prefix("http://").unwrap();
    assert!(get(debug, "/healthz").starts_with("HTTP/1.1 200"));
    server.signal(libc::SIGTERM);
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn the_ready_line_tells_what_the_handler_does() {
    let handler = ["--debug-addr", "off", "--response-size", "4096", "--sleep", "250us"];
    for (framework, own, key, value) in [
        ("triple", &["--gzip-level", "1"][..], "gzip_level", Value::from(1)),
        ("grpc", &["--accept-gzip"], "accept_gzip", true.into()),
        ("raw", &["--message-limit", "4096"], "message_limit", 4096.into()),
    ] {
        let server = Running::start(&[&[framework], &handler[..], own].concat());
        let settings = &server.ready["settings"];
        assert_eq!((&settings["response_size"], &settings["sleep_ms"]), (&4096.into(), &0.25.into()), "{framework}");
        assert_eq!(settings[key], value, "{framework}");
        server.signal(libc::SIGTERM);
        assert_eq!(server.end().0, Some(0), "{framework}");
    }
}

#[test]
fn every_framework_serves_without_debug_endpoints_and_ends_on_either_signal() {
    for framework in ["triple", "grpc", "raw"] {
        for signal in [libc::SIGTERM, libc::SIGINT] {
            let server = Running::start(&[framework, "--debug-addr", "off"]);
            assert_eq!((&server.ready["framework"], &server.ready["debug_addr"]), (&framework.into(), &Value::Null));
            server.signal(signal);
            let (code, log) = server.end();
            assert_eq!(code, Some(0), "{framework}: {log}");
            assert!(!log.contains('\u{1b}'), "no colours where there is no terminal: {log}");
        }
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    for (signal, code) in [(libc::SIGTERM, 143), (libc::SIGINT, 130)] {
        let mut server = Running::start(&["raw", "--debug-addr", "off"]);
        // A message begun and not ended holds the drain up; the echo of the one before tells that it was read.
        let mut busy = TcpStream::connect(server.addr()).unwrap();
        busy.write_all(b"\0\0\0\x01a\0").unwrap();
        busy.read_exact(&mut [0; 5]).unwrap();
        server.signal(signal);
        let mut log = BufReader::new(server.child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("draining") {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0);
        }
        server.signal(signal);
        assert_eq!(server.child.wait().unwrap().code(), Some(code));
    }
}

#[test]
fn what_cannot_be_done_is_one_line_and_exit_code_1() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (arguments, expected) in [
        (
            &["--addr", &taken, "--debug-addr", "off"][..],
            format!("error: --addr {taken}: cannot listen: Address already in use"),
        ),
        (
            &["--addr", "127.0.0.1:0", "--debug-addr", &taken],
            format!("error: --debug-addr {taken}: cannot listen: Address already in use"),
        ),
        (&["--addr", "127.0.0.1:0", "--cpus", "1023"], "error: --cpus 1023: ".to_owned()),
    ] {
        for framework in ["triple", "grpc", "raw"] {
            let output = run(&[&[framework], arguments].concat());
            assert_one_error(&output, 1, &expected);
        }
    }
}

#[test]
fn wrong_usage_is_one_line_and_exit_code_2() {
    for (arguments, expected) in [
        (&["tripel"][..], "error: unrecognized subcommand 'tripel'. Usage: echo-server <triple|grpc|raw>"),
        (&[], "error: 'echo-server' requires a subcommand but one was not provided [subcommands: triple, grpc, raw"),
        (&["triple", "--adr", "x"], "error: unexpected argument '--adr' found"),
        (
            &["triple", "--addr", "localhost:20000"],
            "error: invalid value 'localhost:20000' for '--addr <IP:PORT>': allowed is an IP address and a port, as \
             127.0.0.1:20000",
        ),
        (
            &["triple", "--debug-addr", "localhost:8000"],
            "error: invalid value 'localhost:8000' for '--debug-addr <IP:PORT|off>': allowed are an IP address and a port, \
             as 127.0.0.1:8000, and off",
        ),
        (
            &["triple", "--max-frame-size", "5"],
            "error: invalid value '5' for '--max-frame-size <BYTES>': 5 is not in 16384..=16777215",
        ),
        (&["grpc", "--workers", "0"], "error: invalid value '0' for '--workers <N>': allowed are 1 to 1024"),
        (&["grpc", "--codec-buffer", "-1"], "error: unexpected argument '-1' found"),
        (&["raw", "--codec-buffer", "1"], "error: unexpected argument '--codec-buffer' found"),
        (&["raw", "--cpus", "2-1"], "error: invalid value '2-1' for '--cpus <LIST>': "),
        (&["grpc", "--sleep", "5"], "error: invalid value '5' for '--sleep <TIME>': allowed are times such as 250us"),
        (&["triple", "--sleep", "2h"], "error: invalid value '2h' for '--sleep <TIME>': allowed are times such as"),
        (&["triple", "--gzip-level", "10"], "error: invalid value '10' for '--gzip-level <LEVEL>': 10 is not in 0..=9"),
        (&["grpc", "--gzip-level", "1"], "error: unexpected argument '--gzip-level' found"),
        (&["raw", "--accept-gzip"], "error: unexpected argument '--accept-gzip' found"),
        (&["raw", "--response-size", "1KB"], "error: invalid value '1KB' for '--response-size <BYTES>': "),
        (
            &["triple", "--response-size", "1000", "--message-limit", "1000"],
            "error: --response-size 1000: a reply of 1003 bytes: --message-limit allows 1000",
        ),
        (
            &["raw", "--response-size", "1001", "--message-limit", "1000"],
            "error: --response-size 1001: a reply of 1001 bytes: --message-limit allows 1000",
        ),
        (
            &["raw", "--debug-addr", "on"],
            "error: invalid value 'on' for '--debug-addr <IP:PORT|off>': allowed are an IP address and a port, as 127.0.0.1:8000, \
             and off",
        ),
        (
            &["raw", "--debug-addr", "0.0.0.0:0"],
            "error: --debug-addr 0.0.0.0:0: not a loopback address: allowed only with --allow-remote",
        ),
    ] {
        assert_one_error(&run(arguments), 2, expected);
    }
}

#[test]
fn help_is_no_error() {
    let output = run(&["triple", "--help"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("--max-frame-size"));
}

/// The middle process starts a server, passes on its ready line and ends.
#[test]
fn a_server_ends_with_its_parent() {
    let script = r#""$0" raw --addr 127.0.0.1:0 --debug-addr off --exit-with-parent=$$ & read -r _"#;
    let mut parent = Command::new("sh")
        .args(["-c", script, PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(parent.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("\"ready\":true"), "{line}");
    drop(parent.stdin.take());
    parent.wait().unwrap();
    // The server holds the other end of the pipe until it ends.
    assert_eq!(stdout.read_to_end(&mut Vec::new()).unwrap(), 0);
}

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

fn assert_one_error(output: &Output, code: i32, expected: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with(expected), "{error:?} instead of {expected:?}");
    assert!(output.stdout.is_empty());
}

fn get(addr: &str, path: &str) -> String {
    let mut socket = TcpStream::connect(addr).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").unwrap();
    let mut reply = String::new();
    socket.read_to_string(&mut reply).unwrap();
    reply
}
