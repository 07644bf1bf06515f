"""Whether the JVM agent counts what a program of known allocations allocates: all of it, and nothing of its own."""

import json
import socket
import urllib.request

from harness import JAVA, WORK, PeerError, serving

AGENT = WORK / "jvm-agent" / "agent.jar"
PROGRAM = [*JAVA, "-cp", f"{AGENT}:{WORK / 'jvm-agent' / 'test-classes'}", "analyze.agent.Calibration"]
WORDS = ("large", "small", "ended threads")
# Of some hundred megabytes: what the program needs to read a line, start a thread, and be compiled.
TOLERANCE = 0.001
LOOKS = 200
STILL_BYTES = 4096
ANSWER_SECONDS = 30


def agent_checks(tally):
    """A line in the tally for each kind of allocation."""
    for check, problem in _measured("jvm-agent", []):
        tally.record(f"jvm-agent: {check}", not problem, problem)


def agent_self_test(tally):
    """The program says half of what it allocates."""
    for check, problem in _measured("wrong-jvm-agent", ["--wrong"]):
        tally.record(f"self-test: jvm-agent: {check} is noticed", bool(problem), "a wrong count passed")


def _measured(name, flags):
    with serving(name, [*PROGRAM, *flags]) as ready:
        host, port = ready["addr"].rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS) as connection:
            lines = connection.makefile("rw", encoding="utf-8", newline="\n")
            _allocate(lines, "small")  # compiled from here on
            for word in WORDS:
                before = _counted(ready["debug_addr"])
                expected = _allocate(lines, word)
                counted = _counted(ready["debug_addr"]) - before
                wrong = abs(counted - expected) > expected * TOLERANCE
                yield f"{word}: {expected:,} bytes", f"counted {counted:,}" if wrong else ""
            if not flags:
                before = _counted(ready["debug_addr"])
                for _ in range(LOOKS):
                    counted = _counted(ready["debug_addr"]) - before
                yield f"{LOOKS} looks count nothing", f"counted {counted:,}" if counted > STILL_BYTES else ""


def _allocate(lines, word):
    lines.write(word + "\n")
    lines.flush()
    return int(lines.readline())


def _counted(url):
    with urllib.request.urlopen(url + "/debug/vars", timeout=ANSWER_SECONDS) as answer:
        counted = json.load(answer)["jvm"]["allocated_bytes_serving"]
    if counted is None:
        raise PeerError("jvm-agent: this JVM has no total of allocated bytes: JDK 21 or newer, or a late release of 17, has")
    return counted
