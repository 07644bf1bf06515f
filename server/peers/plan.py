"""Which peers there are, how they are started, and how our client is run against them."""

from typing import NamedTuple

from harness import GO, JAVA, JAVA_PEER, NODE_DIR, PEERS, PYTHON

CLIENTS = {
    "grpcio": [str(PYTHON), str(PEERS / "grpcio" / "client.py")],
    "apache-dubbo": [str(PYTHON), str(PEERS / "apache-dubbo" / "client.py")],
    "dubbo-js": ["node", str(NODE_DIR / "client.js")],
    "dubbo-go-protocol": [str(GO / "dubbo-go-protocol"), "client"],
    "dubbo-go": [str(GO / "dubbo-go-client")],
    "grpc-go": [str(GO / "grpc-go-client")],
    "dubbo-java": [*JAVA, "-cp", str(JAVA_PEER), "analyze.peer.Client"],
    # It compresses all of a process's requests or none.
    "dubbo-java-gzip": ["env", "DUBBO_RPC_TRI_COMPRESSOR=gzip", *JAVA, "-cp", str(JAVA_PEER), "analyze.peer.Client"],
}
CLIENTS_WITH_TIMEOUTS = ("dubbo-go", "grpc-go")
CHECKING = {
    "grpcio": [str(PYTHON), str(PEERS / "grpcio" / "server.py")],
    "apache-dubbo": [str(PYTHON), str(PEERS / "apache-dubbo" / "server.py")],
    "grpcio-gzip": [str(PYTHON), str(PEERS / "grpcio" / "server.py"), "--gzip"],
    "dubbo-js": ["node", str(NODE_DIR / "server.js"), "2"],
    "dubbo-go-protocol": [str(GO / "dubbo-go-protocol"), "server"],
    "dubbo-go-protocol-hessian2": [str(GO / "dubbo-go-protocol"), "server", "--hessian2"],
}
_SEVEN = ["--response-size", "7", "--sleep", "1ms"]
GO_SERVERS = {
    "grpc-go": [str(GO / "grpc-go")],
    "grpc-go-gzip": [str(GO / "grpc-go"), "--accept-gzip"],
    "grpc-go-7-bytes": [str(GO / "grpc-go"), *_SEVEN],
    "grpc-go-4-streams": [str(GO / "grpc-go"), "--max-concurrent-streams", "4"],
    "grpc-go-goaway": [str(GO / "grpc-go"), "--max-connection-age", "1s"],
    "connect-go": [str(GO / "connect-go")],
    "connect-go-7-bytes": [str(GO / "connect-go"), *_SEVEN],
    "connect-go-4-streams": [str(GO / "connect-go"), "--max-concurrent-streams", "4"],
    "dubbo-go": [str(GO / "dubbo-go")],
    "dubbo-go-7-bytes": [str(GO / "dubbo-go"), *_SEVEN],
    "dubbo-go-hessian2": [str(GO / "dubbo-go"), "--serialization", "hessian2"],
    "dubbo-go-dubbo": [str(GO / "dubbo-go"), "--protocol", "dubbo"],
    "kitex": [str(GO / "kitex")],
    "kitex-7-bytes": [str(GO / "kitex"), *_SEVEN],
    "kitex-mux": [str(GO / "kitex"), "--mux"],
    "kitex-thrift": [str(GO / "kitex"), "--protocol", "thrift"],
    "kitex-thrift-mux": [str(GO / "kitex"), "--protocol", "thrift", "--mux"],
    "kitex-thrift-7-bytes": [str(GO / "kitex"), "--protocol", "thrift", *_SEVEN],
}
JAVA_SERVERS = {
    "dubbo-java": [*JAVA, "-jar", str(JAVA_PEER)],
    "dubbo-java-7-bytes": [*JAVA, "-jar", str(JAVA_PEER), *_SEVEN],
}
SERVERS = CHECKING | GO_SERVERS | JAVA_SERVERS
# Their exit code when told to end; the others just die of it. A JVM that a signal ends, drained or not, has 128 and the signal.
END_CODES = dict.fromkeys((*GO_SERVERS, "grpcio", "grpcio-gzip"), 0) | dict.fromkeys(JAVA_SERVERS, 143)
DRAINING = ("grpc-go", "connect-go", "dubbo-go", "kitex")
NAMES = sorted({*CLIENTS, "connect-go", "kitex", "jvm-agent", "own-service"} - {"dubbo-java-gzip"})


class Load(NamedTuple):
    """A short run of our client, and what its result must say of itself: keys of it, or of its `wire`."""

    flags: str
    says: dict
    servers: tuple = (
        *("grpcio", "apache-dubbo", "dubbo-js", "dubbo-go-protocol", "dubbo-go", "grpc-go", "connect-go", "kitex", "dubbo-java"),
    )
    frameworks: tuple = ("triple", "grpc")
    scenarios: tuple = ("128B-4", "1MiB-2")
    # What a warning of it must say.
    warns: str = ""
    # What the error must say that it ends with, if it is to fail.
    fails: str = ""


ECHOES = [Load(f"--mode {mode}", {"call_mode": mode}) for mode in ("unary", "streaming")]
LONG_STREAMS = [
    Load(f"--mode streaming --messages-per-stream {n}", {"messages_per_stream": n}, scenarios=("128B-4",))
    for n in (10, "unbounded")
]
_HESSIAN2 = ("dubbo-js", "dubbo-go-protocol-hessian2", "dubbo-go-hessian2")
ENVELOPES = [
    Load("--serialization hessian2", {"serialization": "hessian2"}, _HESSIAN2, ("triple",)),
    # dubbo-go's server reads msgpack arguments as hessian2 ones.
    Load("--serialization msgpack", {"serialization": "msgpack"}, ("grpcio", "apache-dubbo", "dubbo-js"), ("triple",)),
]
# grpcio and apache-dubbo answer plainly unless they are told, dubbo-java always, grpc-go as it was asked; the others compress
# for whoever takes it.
PLAIN_REPLY, GZIP_REPLY = {"response_encoding": "identity"}, {"response_encoding": "gzip"}
GZIP_REQUEST, PLAIN_REQUEST = {"request_encoding": "gzip", "compression": "default"}, {"request_encoding": "identity"}
_EAGER = ("grpcio-gzip", "dubbo-js", "dubbo-go-protocol", "dubbo-go", "grpc-go-gzip", "connect-go", "kitex")
_EAGER_IN_STREAMS = ("grpcio-gzip", "dubbo-go-protocol", "dubbo-go", "grpc-go", "connect-go")
COMPRESSED = [
    # Of text: grpcio sends plain what gzip does not shorten.
    load._replace(flags=f"{load.flags} --payload-pattern text", scenarios=("16KiB-4",))
    for load in (
        Load("--compression default", GZIP_REQUEST | PLAIN_REPLY, ("grpcio", "apache-dubbo", "dubbo-java")),
        Load("--compression default", GZIP_REQUEST | GZIP_REPLY, _EAGER),
        Load("--compression default --mode streaming", GZIP_REQUEST | GZIP_REPLY, _EAGER_IN_STREAMS),
        Load("--accept-gzip", PLAIN_REQUEST | GZIP_REPLY, _EAGER),
        Load("--accept-gzip", PLAIN_REQUEST | PLAIN_REPLY, ("grpcio", "grpc-go", "dubbo-java")),
        Load("--compression best --serialization hessian2", GZIP_REPLY, _HESSIAN2, ("triple",)),
    )
]
HANDLED = [
    Load(
        f"--response-size 7 --mode {mode}",
        {"response_size": 7, "call_mode": mode},
        ("grpc-go-7-bytes", "connect-go-7-bytes", "dubbo-go-7-bytes", "kitex-7-bytes", "dubbo-java-7-bytes"),
    )
    for mode in ("unary", "streaming")
]
# Calls in frames. kitex finds out by the first bytes which; in TTHeader any server of it takes them, in turn if it isn't told.
FRAMED = [
    Load(flags, {"http_version": wire, "serialization": encoding}, servers, (framework,))
    for flags, wire, encoding, servers, framework in (
        ("--pool", "Thrift framed", "thrift", ("kitex-thrift",), "kitex-thrift"),
        ("--mux", "Thrift framed in TTHeader", "thrift", ("kitex-thrift", "kitex-thrift-mux"), "kitex-thrift"),
        ("--pool", "Kitex Protobuf", "protobuf", ("kitex",), "kitex-protobuf"),
        ("--mux", "Kitex Protobuf in TTHeader", "protobuf", ("kitex", "kitex-mux"), "kitex-protobuf"),
        ("--pool", "Dubbo", "hessian2", ("dubbo-go-dubbo",), "dubbo-go-dubbo"),
        ("--mux", "Dubbo", "hessian2", ("dubbo-go-dubbo",), "dubbo-go-dubbo"),
        ("--pool --response-size 7", "Thrift framed", "thrift", ("kitex-thrift-7-bytes",), "kitex-thrift"),
    )
]
_FOUR_STREAMS = ("grpc-go-4-streams", "connect-go-4-streams")
_LONG_STREAMS_OF_TWELVE = "--mode streaming --messages-per-stream unbounded"
LIMITED = [
    load._replace(scenarios=("128B-12",))
    for load in (
        Load("--mode unary", {"success_rate": 100}, _FOUR_STREAMS, warns="the server allows 4 streams"),
        Load(f"{_LONG_STREAMS_OF_TWELVE} --connections 3", {"success_rate": 100}, _FOUR_STREAMS),
        Load(_LONG_STREAMS_OF_TWELVE, {}, _FOUR_STREAMS, fails="unbounded ones are never free: --connections 3 is enough"),
        # A politely closed connection ends the measurement: a new one would be another.
        Load("--duration 3s", {}, ("grpc-go-goaway",), fails="12 of 12 calls in flight ended with their connection"),
    )
]
LOADS = [*ECHOES, *LONG_STREAMS, *ENVELOPES, *COMPRESSED, *HANDLED, *FRAMED, *LIMITED]
