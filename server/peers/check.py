#!/usr/bin/env python3
"""Our servers and client against peers nobody here wrote, both ways: README.md has them.

Prints a line a check and closes with "N passed, N failed"; exit 1 if any failed. `--self-test` points every client, theirs
and ours, at a server that echoes wrong: there a check passes when the client noticed.
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from harness import GO, GO_PEERS, JAVA, JAVA_PEER, NODE_DIR, PEERS, PYTHON, ROOT, PeerError, lines_of, serving, set_up
from jvmchecks import agent_checks, agent_self_test

CLIENT_SECONDS = 600
ANALYZE_SECONDS = 180

CLIENTS = {
    "grpcio": [str(PYTHON), str(PEERS / "grpcio" / "client.py")],
    "apache-dubbo": [str(PYTHON), str(PEERS / "apache-dubbo" / "client.py")],
    "dubbo-js": ["node", str(NODE_DIR / "client.js")],
    "dubbo-go": [str(GO / "dubbo-go"), "client"],
}
SERVERS = {
    "grpcio": [str(PYTHON), str(PEERS / "grpcio" / "server.py")],
    "apache-dubbo": [str(PYTHON), str(PEERS / "apache-dubbo" / "server.py")],
    "grpcio-gzip": [str(PYTHON), str(PEERS / "grpcio" / "server.py"), "--gzip"],
    "dubbo-js": ["node", str(NODE_DIR / "server.js"), "2"],
    "dubbo-go": [str(GO / "dubbo-go"), "server"],
    "dubbo-go-hessian2": [str(GO / "dubbo-go"), "server", "--hessian2"],
    "grpc-go": [str(GO / "grpc-go")],
    "grpc-go-gzip": [str(GO / "grpc-go"), "--accept-gzip"],
    "grpc-go-7-bytes": [str(GO / "grpc-go"), "--response-size", "7", "--sleep", "1ms"],
    "dubbo-java": [*JAVA, "-jar", str(JAVA_PEER)],
    "dubbo-java-7-bytes": [*JAVA, "-jar", str(JAVA_PEER), "--response-size", "7", "--sleep", "1ms"],
}
# Their exit code when told to end; the others just die of it. A JVM that a signal ends, drained or not, has 128 and the signal.
END_CODES = {name: 0 for name in SERVERS if name.startswith("grpc-go")}
END_CODES |= {name: 143 for name in SERVERS if name.startswith("dubbo-java")}
NAMES = sorted({*CLIENTS, *GO_PEERS, "dubbo-java", "jvm-agent"})
GZIP = {"": [], "-gzip": ["--accept-gzip"]}
OURS = {server + gzip: [server, *flags] for server in ("triple", "grpc") for gzip, flags in GZIP.items()}


class Load(NamedTuple):
    """A short run of our client, and what its result must say of itself: keys of it, or of its `wire`."""

    flags: str
    says: dict
    servers: tuple = (*CLIENTS, "grpc-go", "dubbo-java")
    frameworks: tuple = ("triple", "grpc")
    scenarios: tuple = ("128B-4", "1MiB-2")


ECHOES = [Load(f"--mode {mode}", {"call_mode": mode}) for mode in ("unary", "streaming")]
LONG_STREAMS = [
    Load(f"--mode streaming --messages-per-stream {n}", {"messages_per_stream": n}, scenarios=("128B-4",))
    for n in (10, "unbounded")
]
ENVELOPES = [
    Load("--serialization hessian2", {"serialization": "hessian2"}, ("dubbo-js", "dubbo-go-hessian2"), ("triple",)),
    # dubbo-go reads msgpack arguments as hessian2 ones.
    Load("--serialization msgpack", {"serialization": "msgpack"}, ("grpcio", "apache-dubbo", "dubbo-js"), ("triple",)),
]
# grpcio and apache-dubbo answer plainly unless they are told, dubbo-java always; dubbo-js and dubbo-go compress for who takes it.
PLAIN_REPLY, GZIP_REPLY = {"response_encoding": "identity"}, {"response_encoding": "gzip"}
GZIP_REQUEST, PLAIN_REQUEST = {"request_encoding": "gzip", "compression": "default"}, {"request_encoding": "identity"}
COMPRESSED = [
    # Of text: grpcio sends plain what gzip does not shorten.
    load._replace(flags=f"{load.flags} --payload-pattern text", scenarios=("16KiB-4",))
    for load in (
        Load("--compression default", GZIP_REQUEST | PLAIN_REPLY, ("grpcio", "apache-dubbo", "dubbo-java")),
        Load("--compression default", GZIP_REQUEST | GZIP_REPLY, ("grpcio-gzip", "dubbo-js", "dubbo-go", "grpc-go-gzip")),
        Load("--compression default --mode streaming", GZIP_REQUEST | GZIP_REPLY, ("grpcio-gzip", "dubbo-go", "grpc-go")),
        Load("--accept-gzip", PLAIN_REQUEST | GZIP_REPLY, ("grpcio-gzip", "dubbo-js", "dubbo-go", "grpc-go-gzip")),
        Load("--accept-gzip", PLAIN_REQUEST | PLAIN_REPLY, ("grpcio", "grpc-go", "dubbo-java")),
        Load("--compression best --serialization hessian2", GZIP_REPLY, ("dubbo-js", "dubbo-go-hessian2"), ("triple",)),
    )
]
HANDLED = [
    Load(f"--response-size 7 --mode {mode}", {"response_size": 7, "call_mode": mode}, ("grpc-go-7-bytes", "dubbo-java-7-bytes"))
    for mode in ("unary", "streaming")
]
LOADS = [*ECHOES, *LONG_STREAMS, *ENVELOPES, *COMPRESSED, *HANDLED]

# What our client says of a reply that is not what was sent.
WRONG_ECHO = re.compile(r"preflight call: reply (differs|of \d+ bytes)")


class Tally:
    """Prints each outcome as it comes and counts it."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def record(self, what, ok, detail=""):
        self.passed += ok
        self.failed += not ok
        print(f"{'ok  ' if ok else 'FAIL'} {what}" + (f": {detail}" if detail and not ok else ""), flush=True)

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed or not self.passed else 0


def outcomes(command):
    """What a peer's client reported: (check, ok, detail) each, and one failed outcome more if it did not end well."""
    lines, err, code = lines_of(command, CLIENT_SECONDS)
    found, done = [], None
    for line in lines:
        try:
            report = json.loads(line)
        except json.JSONDecodeError:
            continue  # a library's own chatter
        if "check" in report:
            found.append((report["check"], report["ok"] is True, report["detail"]))
        else:
            done = report.get("done")
    if done != len(found) or not found or code != 0:
        ending = "took too long" if code is None else f"exit {code}"
        found.append(("runs to its end", False, f"{ending} after {len(found)} checks\n{err[-2000:]}"))
    return found


def their_clients(tally, echo_server, only):
    for server, words in OURS.items():
        command = [echo_server, *words, "--addr", "127.0.0.1:0", "--debug-addr", "127.0.0.1:0"]
        name = f"our {server} server"
        try:
            with serving(f"ours-{server}", command, end_code=0) as ready:
                for peer in (peer for peer in only if peer in CLIENTS):
                    for check, ok, detail in outcomes([*CLIENTS[peer], server, ready["addr"]]):
                        tally.record(f"{peer} → {name}: {check}", ok, detail)
            tally.record(f"{name}: starts, and ends well on SIGTERM", True)
        except PeerError as error:
            tally.record(f"{name}: starts, and ends well on SIGTERM", False, str(error))


def our_client(tally, analyze, only):
    for name, command in SERVERS.items():
        if not any(name.startswith(peer) for peer in only):
            continue
        try:
            with serving(name, command, END_CODES.get(name)) as ready:
                for load in (load for load in LOADS if name in load.servers):
                    for framework in load.frameworks:
                        for scenario in load.scenarios:
                            problem = run_analyze(analyze, load, framework, ready["addr"], scenario)
                            what = f"analyze → {name} as {framework}: {load.flags} {scenario}"
                            tally.record(what, not problem, problem)
        except PeerError as error:
            tally.record(f"{name}: its server starts", False, str(error))


def run_analyze(analyze, load, framework, addr, scenario):
    """What went wrong with a short run of our client against a foreign server, "" if nothing."""
    with tempfile.TemporaryDirectory() as out:
        command = [analyze, "--framework", framework, "--addr", f"{framework}={addr}", "--scenario", scenario]
        command += [*load.flags.split(), "--rounds", "1", "--duration", "500ms", "--warmup", "100ms"]
        lines, err, code = lines_of([*command, "--out", out, "--format", "json"], ANALYZE_SECONDS)
    if code != 0:
        return f"exit {code}: {err.strip()[-600:]}"
    try:
        results = json.loads("\n".join(lines))
    except json.JSONDecodeError:
        return f"printed no JSON: {lines[:3]}"
    results = results if isinstance(results, list) else [results]
    if len(results) != 1:
        return f"{len(results)} results, not one"
    result = results[0]
    if result["success_rate"] != 100 or not result["success_requests"]:
        kept = {key: result[key] for key in ("success_rate", "success_requests", "failure_requests")}
        return f"{kept} {result.get('warnings')}"
    said = {key: (result["wire"] | result).get(key) for key in load.says}
    return "" if said == load.says else f"says {said}, must say {load.says}"


def self_test(tally, analyze):
    """Every check of every client, on an echo that is wrong: it must fail there."""
    wrong_grpc = [*SERVERS["grpcio"], "--wrong"]
    with serving("wrong-grpcio", wrong_grpc) as ready:
        for peer in ("grpcio", "apache-dubbo"):
            noticed(tally, peer, outcomes([*CLIENTS[peer], "triple", ready["addr"]]))
        analyze_notices(tally, analyze, "grpcio", ready["addr"])
    for version in ("1.1", "2"):  # a Node server speaks one HTTP version a port
        with serving(f"wrong-dubbo-js-{version}", ["node", str(NODE_DIR / "server.js"), version, "--wrong"]) as ready:
            noticed(tally, f"dubbo-js (HTTP/{version})", outcomes([*CLIENTS["dubbo-js"], "triple", ready["addr"], version]))
            if version == "2":
                analyze_notices(tally, analyze, "dubbo-js", ready["addr"])
    for flags in (["--wrong"], ["--wrong", "--hessian2"]):
        name = " ".join(["dubbo-go", *flags[1:]])
        with serving("wrong-dubbo-go", [*SERVERS["dubbo-go"], *flags]) as ready:
            noticed(tally, name, outcomes([*CLIENTS["dubbo-go"], "triple", ready["addr"]]))
            analyze_notices(tally, analyze, "dubbo-go-hessian2" if flags[1:] else "dubbo-go", ready["addr"])
    # Right ones, that answer with as many bytes as they were not to.
    for server in ("grpc-go", "grpc-go-gzip", "grpc-go-7-bytes"):
        spoiler = "grpc-go" if server.endswith("-7-bytes") else "grpc-go-7-bytes"
        with serving(f"wrong-{server}", SERVERS[spoiler], END_CODES[spoiler]) as ready:
            analyze_notices(tally, analyze, server, ready["addr"])
    for server, flags in (("dubbo-java", ["--wrong"]), ("dubbo-java-7-bytes", [])):
        with serving(f"wrong-{server}", [*SERVERS["dubbo-java"], *flags]) as ready:
            analyze_notices(tally, analyze, server, ready["addr"])
    agent_self_test(tally)
    silent = outcomes([sys.executable, "-c", "print('{\"check\": \"x\", \"ok\": true, \"detail\": \"\"}')"])
    tally.record("self-test: a client that ends early is a failure", not all(ok for _, ok, _ in silent))


def analyze_notices(tally, analyze, server, addr):
    """Our client on a wrong echo, in every way it is run against that server."""
    for load in (load for load in LOADS if server in load.servers):
        framework, scenario = load.frameworks[-1], load.scenarios[0]
        problem = run_analyze(analyze, load._replace(says={}), framework, addr, scenario)
        what = f"self-test: analyze notices a wrong echo of {server} as {framework}: {load.flags}"
        tally.record(what, WRONG_ECHO.search(problem) is not None, problem or "it took the echo for right")


def noticed(tally, peer, reported):
    ended = [detail for check, _, detail in reported if check == "runs to its end"]
    tally.record(f"self-test: {peer} ran to its end", bool(reported) and not ended, "".join(ended))
    for check, ok, _ in reported:
        tally.record(f"self-test: {peer} notices: {check}", not ok, "the check passed on a wrong echo")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    release = ROOT / "target" / "release"
    parser.add_argument("--echo-server", type=Path, default=release / "echo-server", metavar="PATH")
    parser.add_argument("--analyze", type=Path, default=release / "analyze", metavar="PATH")
    parser.add_argument("--only", action="append", choices=NAMES, help="this peer (repeatable)")
    parser.add_argument("--direction", choices=["in", "out"], help="only their clients, or only our client")
    parser.add_argument("--self-test", action="store_true", help="check the checks on a wrong echo")
    return parser.parse_args()


def main():
    args = arguments()
    tally = Tally()
    only = args.only or NAMES
    try:
        set_up()
        if args.self_test:
            self_test(tally, str(args.analyze))
        else:
            if args.direction != "out":
                their_clients(tally, str(args.echo_server), only)
            if args.direction != "in":
                our_client(tally, str(args.analyze), only)
            if "jvm-agent" in only:
                agent_checks(tally)
    except (PeerError, OSError) as error:
        tally.record("setting up", False, str(error))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
