//! Envoy before a server: HTTP/2 without TLS on both sides, one static cluster, nothing logged.

use std::{net::SocketAddr, path::Path};

use serde_json::{Value, json};

use super::Route;

/// What is not Envoy's default, in a sentence.
pub(super) const NOTE: &str = "its circuit breakers, which allow 1024 calls at a time, have room for all, and no call has a time limit \
                               of its own";

/// The least limit of streams on a connection. Envoy's own differs from version to version, as do its windows.
const STREAMS: u32 = 1024;
/// The windows of our servers (`Http2Settings`).
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// A configuration, as JSON, which Envoy reads as it does YAML.
pub(super) fn config(route: Route<'_>) -> String {
    let Route { listen, server, scenario, .. } = route;
    let most = scenario.concurrency * 2 + 64;
    let http2 = json!({
        "max_concurrent_streams": scenario.concurrency.max(STREAMS),
        "initial_stream_window_size": STREAM_WINDOW,
        "initial_connection_window_size": CONNECTION_WINDOW,
    });
    let router = json!({
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": typed("extensions.filters.http.router.v3.Router")},
    });
    let manager = json!({
        "@type": typed("extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": "calls",
        "codec_type": "HTTP2",
        "http2_protocol_options": http2,
        // Streams without an end, and connections that are idle while others are measured.
        "stream_idle_timeout": "0s",
        "route_config": {"virtual_hosts": [{
            "name": "all",
            "domains": ["*"],
            "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "server", "timeout": "0s"}}],
        }]},
        "http_filters": [router],
    });
    let listener = json!({
        "name": "calls",
        "address": address(listen),
        "filter_chains": [{"filters": [{
            "name": "envoy.filters.network.http_connection_manager",
            "typed_config": manager,
        }]}],
    });
    let options = json!({
        "@type": typed("extensions.upstreams.http.v3.HttpProtocolOptions"),
        "explicit_http_config": {"http2_protocol_options": http2},
    });
    let limits = json!({"max_connections": most, "max_pending_requests": most, "max_requests": most});
    let cluster = json!({
        "name": "server",
        "type": "STATIC",
        "connect_timeout": "5s",
        "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options},
        "circuit_breakers": {"thresholds": [limits]},
        "load_assignment": {
            "cluster_name": "server",
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address(server)}}]}],
        },
    });
    format!("{:#}\n", json!({"static_resources": {"listeners": [listener], "clusters": [cluster]}}))
}

fn typed(name: &str) -> String {
    format!("type.googleapis.com/envoy.{name}")
}

fn address(addr: SocketAddr) -> Value {
    json!({"socket_address": {"address": addr.ip().to_string(), "port_value": addr.port()}})
}

/// Of the program, for a configuration in that file.
pub(super) fn args(config: &Path, workers: usize) -> Vec<String> {
    let (config, workers) = (config.to_string_lossy(), workers.to_string());
    // Hot restarts need a name that all of a machine share.
    ["-c", &*config, "--concurrency", &*workers, "--disable-hot-restart", "--log-level", "warn"]
        .map(str::to_owned)
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_every_call() {
        let route = Route {
            listen: "[::1]:4000".parse().expect("an address"),
            server: ([127, 0, 0, 1], 5000).into(),
            scenario: "1MiB-2000".parse().expect("a scenario"),
            workers: 2,
            stem: "x",
        };
        let config: Value = serde_json::from_str(&config(route)).expect("JSON");
        let listener = &config["static_resources"]["listeners"][0];
        assert_eq!(listener["address"]["socket_address"], json!({"address": "::1", "port_value": 4000}));
        let cluster = &config["static_resources"]["clusters"][0];
        let endpoint = &cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"];
        assert_eq!(endpoint["address"]["socket_address"], json!({"address": "127.0.0.1", "port_value": 5000}));
        assert!(cluster["circuit_breakers"]["thresholds"][0]["max_requests"].as_u64() >= Some(2000));
        let manager = &listener["filter_chains"][0]["filters"][0]["typed_config"];
        assert_eq!(manager["http2_protocol_options"]["max_concurrent_streams"], 2000);
        assert_eq!(args(Path::new("/a/b.conf"), 2)[..4], ["-c", "/a/b.conf", "--concurrency", "2"]);
    }
}
