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
import threading
import urllib.request
from pathlib import Path

from harness import NODE_DIR, ROOT, PeerError, lines_of, serving, set_up
from jvmchecks import agent_checks, agent_self_test
from ownchecks import own_service_checks
from plan import CLIENTS, CLIENTS_WITH_TIMEOUTS, DRAINING, END_CODES, GO_SERVERS, LOADS, NAMES, SERVERS
from sourcechecks import source_checks, source_self_test

CLIENT_SECONDS = 600
ANALYZE_SECONDS = 180

VARIANTS = {"": [], "-gzip": ["--accept-gzip"], "-slow": ["--sleep", "300ms"]}
OURS = {server + name: [server, *flags] for server in ("triple", "grpc") for name, flags in VARIANTS.items()}

# What our client says of a reply that is not what was sent.
WRONG_ECHO = re.compile(r"preflight call[^:]*: reply (differs|of \d+ bytes)")


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
                clients = CLIENTS_WITH_TIMEOUTS if server.endswith("-slow") else CLIENTS
                for peer in (peer for peer in clients if peer.startswith(tuple(only))):
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
                            problem = run_analyze(analyze, load, framework, ready, scenario)
                            what = f"analyze → {name} as {framework}: {load.flags} {scenario}"
                            tally.record(what, not problem, problem)
        except PeerError as error:
            tally.record(f"{name}: its server starts", False, str(error))


def drains(tally, only):
    """A server under test answers what is in flight when it is told to end."""
    for name in (name for name in DRAINING if name in only):
        try:
            answered_last(tally, name)
        except (PeerError, OSError) as error:
            tally.record(f"{name}: drains", False, str(error))


def answered_last(tally, name):
    # Of the checks of a client only the first is of interest: the others find no server.
    reported = []
    with serving(f"{name}-drains", [*SERVERS[name], "--sleep", "2s"], END_CODES[name]) as ready:
        client = [*CLIENTS["grpc-go"], "grpc-slow", ready["addr"]]
        calling = threading.Thread(target=lambda: reported.extend(outcomes(client)))
        calling.start()
        while not sum(started(ready["debug_addr"]).values()) and calling.is_alive():
            pass
    calling.join()
    _, ok, detail = reported[0]
    tally.record(f"{name}: what is in flight on SIGTERM is answered", ok, detail)


def started(debug_addr):
    """How many messages a server has begun to answer, by method."""
    with urllib.request.urlopen(f"{debug_addr}/debug/vars", timeout=CLIENT_SECONDS) as answer:
        return {method: counts["started"] for method, counts in json.load(answer)["ops"].items()}


def run_analyze(analyze, load, framework, ready, scenario):
    """What went wrong with a short run of our client against a foreign server, "" if nothing."""
    with tempfile.TemporaryDirectory() as out:
        command = [analyze, "--framework", framework, "--addr", f"{framework}={ready['addr']}", "--scenario", scenario]
        if ready.get("debug_addr"):
            command += ["--debug", f"{framework}={ready['debug_addr']}", "--no-profiles"]
        command += ["--rounds", "1", "--warmup", "100ms", *load.flags.split()]
        command += [] if "--duration" in load.flags else ["--duration", "500ms"]
        lines, err, code = lines_of([*command, "--out", out, "--format", "json"], ANALYZE_SECONDS)
    if code != (1 if load.fails else 0) or load.fails not in err:
        return f"exit {code}: {err.strip()[-600:]}"
    try:
        results = json.loads("\n".join(lines))
    except json.JSONDecodeError:
        return f"printed no JSON: {lines[:3]}"
    results = results if isinstance(results, list) else [results]
    if len(results) != 1:
        return f"{len(results)} results, not one"
    return problem_of(results[0], load)


def problem_of(result, load):
    """What a result says that it must not say, "" if nothing."""
    kept = {key: result[key] for key in ("success_rate", "success_requests", "failure_requests", "unfinished_requests")}
    if not load.fails and (result["success_rate"] != 100 or not result["success_requests"]):
        return f"{kept} {result.get('warnings')}"
    if result["total_requests"] != sum(kept[key] for key in kept if key != "success_rate"):
        return f"{kept} are not all of {result['total_requests']}"
    for round in result["rounds"]:
        if (counted := answered(round)) not in (None, round["ok"]):
            return f"{round['ok']} right calls, but the server counted {counted}"
    if not any(load.warns in warning for warning in result["warnings"] or [""]):
        return f"warns {result['warnings']}, must warn {load.warns!r}"
    said = {key: (result["wire"] | result).get(key) for key in load.says}
    return "" if said == load.says else f"says {said}, must say {load.says}"


def answered(round):
    """How many messages the server itself says that it answered in a round; None if it doesn't count."""
    if not round["server"] or not round["server"]["after"]["ops"]:
        return None
    before, after = (round["server"][when]["ops"] for when in ("before", "after"))
    return sum(after[method]["ok"] - before[method]["ok"] for method in after)


def self_test(tally, analyze):
    """Every check of every client, on an echo that is wrong: it must fail there."""
    wrong_grpc = [*SERVERS["grpcio"], "--wrong"]
    with serving("wrong-grpcio", wrong_grpc) as ready:
        for peer in ("grpcio", "apache-dubbo", "grpc-go", "dubbo-go", "dubbo-java", "dubbo-java-gzip"):
            noticed(tally, peer, outcomes([*CLIENTS[peer], "triple", ready["addr"]]))
        for peer in CLIENTS_WITH_TIMEOUTS:
            noticed(tally, f"{peer} (timeouts)", outcomes([*CLIENTS[peer], "triple-slow", ready["addr"]]))
        analyze_notices(tally, analyze, "grpcio", ready)
    for version in ("1.1", "2"):  # a Node server speaks one HTTP version a port
        with serving(f"wrong-dubbo-js-{version}", ["node", str(NODE_DIR / "server.js"), version, "--wrong"]) as ready:
            noticed(tally, f"dubbo-js (HTTP/{version})", outcomes([*CLIENTS["dubbo-js"], "triple", ready["addr"], version]))
            if version == "2":
                analyze_notices(tally, analyze, "dubbo-js", ready)
    for server in ("dubbo-go-protocol", "dubbo-go-protocol-hessian2"):
        with serving(f"wrong-{server}", [*SERVERS[server], "--wrong"]) as ready:
            noticed(tally, server, outcomes([*CLIENTS["dubbo-go-protocol"], "triple", ready["addr"]]))
            analyze_notices(tally, analyze, server, ready)
    # Right ones, that are set as they should not be.
    for server, command in GO_SERVERS.items():
        wrong = ["--response-size", "-1" if "-7-bytes" in server else "7"]
        with serving(f"wrong-{server}", [*command, *wrong], 0) as ready:
            analyze_notices(tally, analyze, server, ready)
    for server, flags in (("dubbo-java", ["--wrong"]), ("dubbo-java-7-bytes", [])):
        with serving(f"wrong-{server}", [*SERVERS["dubbo-java"], *flags]) as ready:
            analyze_notices(tally, analyze, server, ready)
    agent_self_test(tally)
    source_self_test(tally, analyze)
    silent = outcomes([sys.executable, "-c", "print('{\"check\": \"x\", \"ok\": true, \"detail\": \"\"}')"])
    tally.record("self-test: a client that ends early is a failure", not all(ok for _, ok, _ in silent))


def analyze_notices(tally, analyze, server, ready):
    """Our client on a wrong echo, in every way it is run against that server."""
    for load in (load for load in LOADS if server in load.servers):
        framework, scenario = load.frameworks[-1], load.scenarios[0]
        problem = run_analyze(analyze, load._replace(says={}), framework, ready, scenario)
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
                drains(tally, only)
                source_checks(tally, str(args.analyze), only)
            if "own-service" in only:
                own_service_checks(tally, str(args.analyze))
            if "jvm-agent" in only:
                agent_checks(tally)
    except (PeerError, OSError) as error:
        tally.record("setting up", False, str(error))
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
