"""Where our client takes the counters of other people's servers from, and whether a server's profile adds up to them."""

import json
import tempfile

from harness import lines_of, serving
from plan import SERVERS

# A server's framework, and what its counters must be said to come from.
SOURCES = {"grpc-go": ("grpc", "go-expvar"), "connect-go": ("grpc", "go-expvar"), "dubbo-java": ("triple", "jvm-agent")}
# Those in Go have their endpoints anyway, on any free port.
DEBUG = ["--debug-addr", "127.0.0.1:0"]
ANALYZE_SECONDS = 180
PAYLOAD = 128
# Of the profile's sum: its own standard errors, or the share, whichever is more.
ERRORS, SHARE = 5, 0.03


def source_checks(tally, analyze, only):
    for server in (server for server in SOURCES if server in only):
        framework, source = SOURCES[server]
        with serving(f"{server}-counters", [*SERVERS[server], *DEBUG]) as ready:
            problem = _problem(_measured(analyze, framework, ready["addr"], ready["debug_addr"]), source)
        tally.record(f"analyze → {server}: counters by {source}, and a profile of the same size", not problem, problem)


def source_self_test(tally, analyze):
    """The counters are those of another process."""
    command = [*SERVERS["grpc-go"], *DEBUG]
    with serving("grpc-go-counted", command) as ready, serving("grpc-go-idle", command) as idle:
        result = _measured(analyze, "grpc", ready["addr"], idle["debug_addr"])
    measured = isinstance(result, dict)
    for what, source in (("counters of another process are", "go-expvar"), ("another source is", "jvm-agent")):
        noticed = measured and bool(_problem(result, source))
        tally.record(f"self-test: {what} noticed", noticed, "it passed" if measured else result)


def _measured(analyze, framework, addr, debug):
    """The result of a short run, or what went wrong."""
    load = ["--scenario", f"{PAYLOAD}B-4", "--rounds", "2", "--duration", "1s", "--warmup", "500ms", "--no-roofline"]
    server = ["--framework", framework, "--addr", f"{framework}={addr}", "--debug", f"{framework}={debug}"]
    with tempfile.TemporaryDirectory() as out:
        lines, err, code = lines_of([analyze, *server, *load, "--format", "json", "--out", out], ANALYZE_SECONDS)
    if code != 0:
        return err.strip() or f"exit {code}"
    return json.loads("\n".join(lines))[0]


def _problem(result, source):
    """What is wrong with a result; nothing when it is as it should be."""
    if isinstance(result, str):
        return result
    said = result["environment"]["counter_source"]
    if said != source:
        return f"the counters are said to come from {said}"
    by_bytes, allocs, sites = result["bytes_per_op"], result["allocs_per_op"], result["sites"]
    # It reads a payload and writes one.
    if not by_bytes or by_bytes < PAYLOAD:
        return f"{by_bytes} B/op"
    if result["server_cpu_us_per_op"] is None:
        return "the server's process was not found"
    if source == "jvm-agent":
        skipped = any(warning.startswith("no profiles were taken") for warning in result["warnings"])
        return "" if allocs is None and sites is None and skipped else f"{allocs} allocs/op, sites {sites}, skipped {skipped}"
    if not allocs or allocs < 1:
        return f"{allocs} allocs/op"
    if not sites or not sites["sampling"]:
        return "no sites of a sampled profile: " + "; ".join(result["warnings"])
    off = sites["total"]["bytes_per_op"] / by_bytes - 1
    allowed = max(SHARE, ERRORS * (sites["sampling"]["bytes_error"] or 0))
    return f"the profile is off by {off:+.1%}, ±{allowed:.1%} is allowed" if abs(off) > allowed else ""
