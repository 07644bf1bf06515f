"""Our client against a Go service that knows nothing of benchmarks: calls of its own methods, found by reflection."""

import json
import subprocess
import tempfile
from pathlib import Path

from harness import GO, serving

SECONDS = 120
CHECK = "grpc.health.v1.Health/Check"


def own_service_checks(tally, analyze):
    """Calls that go well, with every figure Go tells, and calls that fail with the reason."""
    with serving("own-service", [str(GO / "own-service")]) as ready:
        given = ["--reflection", "--addr", ready["addr"], "--debug", ready["debug_addr"], "--concurrency", "4"]
        load = ["--requests", "500", "--rounds", "2", "--warmup", "0s", "--no-profiles", "--label", "t"]
        for flags, replies in (([], "not compared"), (["--expect", '{"status": "SERVING"}'], "compared")):
            code, said, result = run(analyze, ["--call", CHECK, *flags, *given, *load])
            tally.record(f"analyze → own-service: {CHECK}, {replies}", code == 0, said)
            call = result.get("call") or {}
            says = {"method": CHECK, "schema": "reflection", "reply": '{"status":"SERVING"}', "replies": replies}
            found = {key: call.get(key) for key in says}
            tally.record("its result says what was called", found == says, str(found))
            tally.record("every call was right", result.get("success_requests") == 1000, str(result.get("rounds")))
            counted = [result.get(key) or 0 for key in ("allocs_per_op", "bytes_per_op")]
            # grpc-go can't do with fewer: a stream, its headers, two messages.
            tally.record("Go's counters are per op", counted[0] > 5 and counted[1] > 100, str(counted))
        for what, flags, wanted, problem in (
            ("a status other than 0", ["--call", CHECK, "--data", '{"service": "none"}'], 1, "grpc-status 5: unknown service"),
            ("another reply", ["--call", CHECK, "--expect", "{}"], 1, "reply is not the one expected"),
            ("a method that isn't there", ["--call", "grpc.health.v1.Health/Chek"], 2, "it has Check"),
            ("a service that isn't there", ["--call", "my.Service/Check"], 2, "grpc.health.v1.Health"),
            ("a field that isn't there", ["--call", CHECK, "--data", '{"servic": ""}'], 2, "has service"),
        ):
            code, said, _ = run(analyze, [*flags, *given, *load])
            tally.record(f"analyze → own-service: {what} is told", code == wanted and problem in said, f"exit {code}: {said}")


def run(analyze, flags):
    """The exit code of a run, what it said, and its result, {} if there is none."""
    with tempfile.TemporaryDirectory() as out:
        command = [analyze, *flags, "--out", out]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env={"NO_COLOR": "1"})
        files = list(Path(out).glob("data/t/*.json"))
        result = json.loads(files[0].read_text()) if files else {}
        return done.returncode, done.stderr[-2000:], result
