//! nginx before a server: HTTP/2 without TLS on both sides, connections to the server kept, nothing logged.

use std::{ffi::OsStr, path::Path};

use super::Route;

/// What is not nginx's default, in a sentence.
pub(super) const NOTE: &str = "client_max_body_size is off, as nginx's 1m would refuse bodies above 1 MiB with 413; connections to \
                               the server are kept, one for each call in flight, as nginx has one request at a time on each";

/// nginx's own limit of streams on a connection.
const STREAMS: u32 = 128;

/// Modules with a folder for what they buffer, which nginx makes when it starts.
const BUFFERING: [(&str, &str); 5] = [
    ("http", "client_body_temp_path"),
    ("http_proxy_module", "proxy_temp_path"),
    ("http_fastcgi_module", "fastcgi_temp_path"),
    ("http_uwsgi_module", "uwsgi_temp_path"),
    ("http_scgi_module", "scgi_temp_path"),
];

/// The text of a configuration; `left_out` are modules that the build is without. Paths are relative to its folder.
///
/// `listen … http2` is what every nginx since 1.9.5 reads; from 1.25.1 on it says so in a warning.
pub(super) fn config(route: Route<'_>, version: &str, left_out: &[String]) -> String {
    let Route { listen, server, scenario, workers, stem } = route;
    let calls = scenario.concurrency;
    let streams = calls.max(STREAMS);
    // A call is answered a moment before its connection to the server is free for the next.
    let kept = calls * 2;
    // A connection of the load generator for each call at most, those to the server, and some to spare.
    let connections = calls + kept + 64;
    let scratch: String = BUFFERING
        .iter()
        .filter(|(module, _)| left_out.iter().all(|missing| missing != module))
        .map(|(_, directive)| format!("    {directive} {stem}.scratch;\n"))
        .collect();
    let [limits, upstream_limits] = older_and_newer_limits(version);
    format!(
        "# nginx as a gateway before {server}, for one measurement.\n\
         daemon off;\n\
         worker_processes {workers};\n\
         worker_rlimit_nofile {files};\n\
         pid {stem}.pid;\n\
         error_log stderr warn;\n\
         events {{ worker_connections {connections}; }}\n\
         http {{\n    \
             access_log off;\n\
         {scratch}    \
             # Unless it is set it is 1m, and a larger body is answered with 413. It counts all messages of a stream.\n    \
             client_max_body_size 0;\n    \
             # A client's connection ends after 1000 requests otherwise, or when it is idle while others are measured.\n    \
             keepalive_requests 1000000000;\n    \
             keepalive_timeout 1h;\n\
         {limits}    \
             http2_max_concurrent_streams {streams};\n    \
             upstream server {{\n        \
                 server {server};\n        \
                 keepalive {kept};\n        \
                 keepalive_requests 1000000000;\n        \
                 keepalive_timeout 1h;\n\
             {upstream_limits}    \
             }}\n    \
             server {{\n        \
                 listen {listen} http2;\n        \
                 location / {{ grpc_pass grpc://server; }}\n    \
             }}\n\
         }}\n",
        files = connections + 64,
    )
}

/// What ends connections beside requests and idle time, in the http section and before the server: below 1.19.7 HTTP/2 has limits
/// of its own, from 1.19.10 on they end after an hour.
fn older_and_newer_limits(version: &str) -> [&'static str; 2] {
    let version: Vec<u32> = version.split(['.', '-']).map_while(|number| number.parse().ok()).collect();
    if version.as_slice() < [1, 19, 7].as_slice() {
        ["    http2_max_requests 1000000000;\n    http2_idle_timeout 1h;\n", ""]
    } else if version.as_slice() < [1, 19, 10].as_slice() {
        ["", ""]
    } else {
        ["    keepalive_time 1000h;\n", "        keepalive_time 1000h;\n"]
    }
}

/// Of the program, for a configuration in that file.
pub(super) fn args(config: &Path) -> Vec<String> {
    let folder = config.parent().unwrap_or(Path::new("."));
    // A name without a folder is looked for in the folder after -p.
    let name = config.file_name().unwrap_or_default();
    let words = [OsStr::new("-p"), folder.as_os_str(), OsStr::new("-c"), name];
    words.map(|word| word.to_string_lossy().into_owned()).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(scenario: &str) -> Route<'_> {
        Route {
            listen: ([127, 0, 0, 1], 4000).into(),
            server: ([127, 0, 0, 1], 5000).into(),
            scenario: scenario.parse().expect("a scenario"),
            workers: 2,
            stem: "grpc_128",
        }
    }

    /// The value of a directive that stands once.
    fn directive<'a>(text: &'a str, name: &str) -> &'a str {
        let found: Vec<&str> =
            text.lines().filter_map(|line| line.trim().strip_prefix(name)?.strip_suffix(';')).collect();
        assert_eq!(found.len(), 1, "{name}: {text}");
        found[0].trim()
    }

    #[test]
    fn calls_reach_the_server_over_connections_that_are_kept() {
        let text = config(route("1MiB-500"), "1.22.1", &[]);
        assert_eq!(directive(&text, "listen"), "127.0.0.1:4000 http2");
        assert_eq!(directive(&text, "keepalive "), "1000");
        assert_eq!(directive(&text, "client_max_body_size"), "0");
        assert_eq!(directive(&text, "http2_max_concurrent_streams"), "500");
        assert_eq!(directive(&text, "worker_processes"), "2");
        assert_eq!(directive(&text, "access_log"), "off");
        assert!(text.contains("server 127.0.0.1:5000;") && text.contains("grpc_pass grpc://server;"), "{text}");
        assert_eq!(text.matches('{').count(), text.matches('}').count(), "{text}");
        assert_eq!(directive(&config(route("128B-1"), "1.22.1", &[]), "http2_max_concurrent_streams"), "128");
    }

    #[test]
    fn no_connection_ends_of_its_age_whatever_the_version() {
        let has = |version: &str, name: &str| config(route("128B-1"), version, &[]).matches(name).count();
        for (version, http2, age) in [("1.18.0", 1, 0), ("1.19.7", 0, 0), ("1.19.10", 0, 2), ("1.29.0-x", 0, 2)] {
            assert_eq!(
                (has(version, "http2_max_requests"), has(version, "http2_idle_timeout")),
                (http2, http2),
                "{version}"
            );
            assert_eq!(has(version, "keepalive_time "), age, "{version}");
        }
    }

    #[test]
    fn modules_that_are_left_out_are_not_named() {
        let left_out = ["http_fastcgi_module".to_owned(), "http_scgi_module".to_owned()];
        let text = config(route("128B-1"), "1.22.1", &left_out);
        assert!(!text.contains("fastcgi"), "{text}");
        assert_eq!(text.matches("grpc_128.scratch;").count(), 3, "{text}");
    }

    #[test]
    fn files_are_looked_for_where_the_configuration_is() {
        assert_eq!(args(Path::new("/run/logs/a.gateway.conf")), ["-p", "/run/logs", "-c", "a.gateway.conf"]);
    }
}
