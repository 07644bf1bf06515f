"""Server and client on two hosts: two network namespaces joined by a veth pair, `two_hosts.py [--analyze PATH] [--echo-server PATH]`.

The servers run in one, `analyze --addr --debug` in the other, as it would from a second machine. Checked is that the result
holds all that the debug endpoints tell, and nothing that was read from this machine in place of the server's. The two share
one /proc on purpose: the server's process id is there, under its own command line, for whoever looks at the wrong host.
The server's monotonic clock is a day ahead where the kernel has time namespaces: only the client's may be in a figure.
And the bytes that a result says were sent and received are held against what the kernel counted on the link.

Needs root. Where namespaces are not permitted it says so and checks nothing.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "server" / "peers"))
from harness import PeerError, lines_of, serving

# RFC 2544 keeps 198.18.0.0/15 for benchmarks.
SERVER_IP, CLIENT_IP, PREFIX = "198.18.0.1", "198.18.0.2", 30
FRAMEWORKS = ("triple", "grpc")
LABEL = "two-hosts"
ANALYZE_SECONDS = 180
COMMAND_SECONDS = 20
LATENCIES = ("latency_min_ms", "latency_avg_ms", "latency_p50_ms", "latency_p99_ms", "latency_max_ms")
LONGEST_MS = 60_000
# What a process tells through its debug endpoints alone, so that it is known of a distant one too.
TOLD = ("allocs_per_op", "bytes_per_op", "requested_bytes_per_op", "frees_per_op", "server_cpu_us_per_op", "cpu_avg_percent")
# What only /proc of the server's own machine tells; the client's is its own.
OF_PROC = ("memory_avg_mb", "memory_peak_mb", "context_switches_per_op", "page_faults_per_op", "syscalls_per_op")
OF_CLIENT = ("client_cpu_us_per_op", "client_memory_peak_mb", "client_context_switches_per_op")
WIRE_OPS, WIRE_PAYLOAD = 2000, 16 * 1024
# What is on the link besides, an op: headers of TCP and IP and acknowledgements; connecting, and reading the counters.
WIRE_RATIO, WIRE_BYTES = 1.05, 600


class NotPermitted(Exception):
    """This machine makes no namespaces for us; the text says what it refused."""


class Hosts:
    """Two namespaces, and how to run a program in either."""

    def __init__(self, server, client, ahead):
        self.server, self.client, self.ahead = server, client, ahead

    def link_bytes(self):
        """What the client's end of the link has sent and received."""
        shown = ip("-n", self.client, "-json", "-statistics", "link", "show", "type", "veth")
        stats = json.loads(shown)[0]["stats64"]
        return stats["tx"]["bytes"], stats["rx"]["bytes"]

    def calls(self, server):
        """Calls that a server has begun, by its own count."""
        read = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=20).read().decode())"
        lines, err, _ = lines_of(self.on_client([sys.executable, "-c", read, server["debug_addr"] + "/debug/vars"]), COMMAND_SECONDS)
        try:
            return sum(method["started"] for method in json.loads("\n".join(lines))["ops"].values())
        except (ValueError, KeyError):
            raise PeerError(f"{server['debug_addr']}: no counters: {err.strip()[-300:]}") from None

    def on_server(self, command):
        return [*self.ahead, "ip", "netns", "exec", self.server, *command]

    def on_client(self, command):
        return ["ip", "netns", "exec", self.client, *command]


@contextmanager
def two_hosts():
    """Makes the namespaces, and removes them whatever happens."""
    if shutil.which("ip") is None:
        raise NotPermitted("the program ip (iproute2) is not installed")
    mark = os.getpid()
    server, client = f"echo-server-{mark}", f"echo-client-{mark}"
    ends = {server: (f"ves{mark}", SERVER_IP), client: (f"vec{mark}", CLIENT_IP)}
    try:
        try:
            join(ends)
        except PeerError as error:
            raise NotPermitted(str(error)) from None
        yield Hosts(server, client, a_day_ahead())
    finally:
        for name in ends:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, timeout=COMMAND_SECONDS, check=False)


def join(ends):
    """Namespaces by name, each with its end of the pair and its address."""
    for name in ends:
        ip("netns", "add", name)
    (server, (server_end, _)), (client, (client_end, _)) = ends.items()
    ip("link", "add", server_end, "netns", server, "type", "veth", "peer", "name", client_end, "netns", client)
    for name, (end, address) in ends.items():
        ip("-n", name, "address", "add", f"{address}/{PREFIX}", "dev", end)
        for device in ("lo", end):
            ip("-n", name, "link", "set", device, "up")


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
    if done.returncode != 0:
        raise PeerError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def a_day_ahead():
    """What to put before a command for its monotonic clock to be a day ahead; nothing where that is not to be had."""
    command = ["unshare", "--time", "--monotonic", "86400"]
    try:
        done = subprocess.run([*command, "true"], capture_output=True, timeout=COMMAND_SECONDS, check=False)
    except OSError:
        return []
    # util-linux enters the namespace with the program it runs, which keeps this process's own time out of it.
    return command if done.returncode == 0 else []


class Tally:
    def __init__(self):
        self.checks, self.failed = 0, 0

    def record(self, what, problem):
        self.checks += 1
        self.failed += bool(problem)
        print(f"FAIL {what}: {problem}" if problem else f"ok   {what}", flush=True)


def remote_debug_is_asked_for(tally, hosts, echo_server):
    """Debug endpoints on an address that is not loopback must be refused unless they were asked for."""
    command = [echo_server, "triple", "--addr", f"{SERVER_IP}:0", "--debug-addr", f"{SERVER_IP}:0"]
    _, err, code = lines_of(hosts.on_server(command), COMMAND_SECONDS)
    problem = "" if code == 2 and "--allow-remote" in err else f"exit {code}: {err.strip()}"
    tally.record("debug endpoints for other hosts are refused without --allow-remote", problem)


def measured(tally, hosts, echo_server, analyze):
    command = [echo_server, "--addr", f"{SERVER_IP}:0", "--debug-addr", f"{SERVER_IP}:0", "--allow-remote"]
    with tempfile.TemporaryDirectory() as out:
        for framework in FRAMEWORKS:
            started = hosts.on_server([echo_server, framework, *command[1:]])
            with serving(f"two-hosts-{framework}", started, end_code=0) as server:
                load = ["--scenario", "128B-10", "--rounds", "1", "--duration", "1s", "--warmup", "200ms"]
                result, problem = run_analyze(hosts, analyze, framework, server, out, load)
                tally.record(f"{framework}: measured from the other host", problem)
                if result is not None:
                    for what, problem in findings(result, server, Path(out)):
                        tally.record(f"{framework}: {what}", problem)


def carried(tally, hosts, echo_server, analyze):
    """Bytes an op in the result against bytes on the link and calls that the server counted, which are more than the timed ones."""
    command = [echo_server, "triple", "--addr", f"{SERVER_IP}:0", "--debug-addr", f"{SERVER_IP}:0", "--allow-remote"]
    started = hosts.on_server([*command, "--accept-gzip"])
    load = f"--scenario {WIRE_PAYLOAD}B-4 --requests {WIRE_OPS} --warmup 0s --rounds 1 --no-profiles --payload-pattern text"
    with tempfile.TemporaryDirectory() as out, serving("two-hosts-link", started, end_code=0) as server:
        for compression in ("none", "default"):
            before = [hosts.calls(server), *hosts.link_bytes()]
            words = [*load.split(), "--compression", compression]
            result, problem = run_analyze(hosts, analyze, "triple", server, out, words)
            tally.record(f"compression {compression}: measured", problem)
            if result is not None:
                after = [hosts.calls(server), *hosts.link_bytes()]
                gained = [now - earlier for now, earlier in zip(after, before)]
                for what, problem in link_findings(result, compression, *gained):
                    tally.record(f"compression {compression}: {what}", problem)


def link_findings(result, compression, calls, *link):
    ok = result["success_requests"]
    yield "every call succeeded", "" if ok == WIRE_OPS <= calls else f"{ok} of {WIRE_OPS}, {calls} by the server's count"
    for way, carried_bytes in zip(("sent", "received"), link):
        said, on_link = result[f"{way}_bytes_per_op"] or 0, carried_bytes / calls
        fits = said <= on_link <= said * WIRE_RATIO + WIRE_BYTES
        yield f"the link carried the bytes {way}", "" if fits else f"{said:.0f} an op said, {on_link:.0f} carried"
        fits = said > WIRE_PAYLOAD if compression == "none" else said < WIRE_PAYLOAD / 2
        yield f"these are {'more' if compression == 'none' else 'fewer'} than the payload", "" if fits else f"{said:.0f}"


def run_analyze(hosts, analyze, framework, server, out, load):
    """The one result, or None and why there is none."""
    command = [analyze, "--framework", framework, "--addr", f"{framework}={server['addr']}", *load]
    command += ["--debug", f"{framework}={server['debug_addr']}", "--label", LABEL, "--out", out, "--format", "json"]
    lines, err, code = lines_of(hosts.on_client(command), ANALYZE_SECONDS)
    if code != 0:
        return None, f"exit {code}: {err.strip()[-1000:]}"
    try:
        results = json.loads("\n".join(lines))
    except json.JSONDecodeError:
        return None, f"printed no JSON: {lines[:3]}"
    results = results if isinstance(results, list) else [results]
    return (results[0], "") if len(results) == 1 else (None, f"{len(results)} results, not one")


def findings(result, server, out):
    """(what was checked, what is wrong or "")"""
    environment = result["environment"]

    def unless(ok, *keys, of=result):
        return "" if ok else ", ".join(f"{key} is {of.get(key)!r}" for key in keys)

    yield "every call succeeded", unless(
        result["success_rate"] == 100 and result["success_requests"] > 0, "success_rate", "success_requests"
    )
    yield "the server was attached to", unless(
        environment["server"] == "attached" and environment["server_address"] == server["addr"],
        *("server", "server_address", "server_cpus"),
        of=environment,
    )
    yield "its CPUs are not said to be known", unless(environment["server_cpus"] is None, "server_cpus", of=environment)
    yield "no roofline of another machine", unless(result["roofline_ratio"] is None, "roofline_ratio")
    untold = [key for key in TOLD if not (result[key] or 0) > 0]
    yield "what the debug endpoints tell is there", unless(not untold, *untold)
    read = [key for key in OF_PROC if result.get(key) is not None]
    yield "nothing was read from the wrong /proc", unless(not read, *read)
    unknown = [key for key in OF_CLIENT if not (result.get(key) or 0) > 0]
    yield "the client's own is there", unless(not unknown, *unknown)
    odd = [key for key in LATENCIES if not 0 < (result[key] or 0) < LONGEST_MS]
    yield "latencies are of one clock", unless(not odd, *odd)
    ours = {name: file for name, file in result["files"].items() if name not in ("server_log", "gateway_config", "gateway_log")}
    absent = [name for name, file in ours.items() if not found(out, file)]
    yield "profiles and flamegraphs were taken", f"not there: {absent}" if absent else ""
    sites = result["sites"]
    off = abs(sites["total"]["allocs_per_op"] / result["allocs_per_op"] - 1) if sites and result["allocs_per_op"] else 1
    yield "the allocating sites explain allocs/op", f"off by {off:.1%}" if off > 0.01 else ""


def found(out, file):
    return file is not None and (out / "data" / LABEL / file).is_file()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    release = ROOT / "target" / "release"
    parser.add_argument("--echo-server", type=Path, default=release / "echo-server", metavar="PATH")
    parser.add_argument("--analyze", type=Path, default=release / "analyze", metavar="PATH")
    return parser.parse_args()


def main():
    # The namespaces are removed also when CI ends this script.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    args = arguments()
    tally = Tally()
    try:
        with two_hosts() as hosts:
            print("the server's clock is a day ahead" if hosts.ahead else "both sides have one clock", flush=True)
            remote_debug_is_asked_for(tally, hosts, str(args.echo_server))
            measured(tally, hosts, str(args.echo_server), str(args.analyze))
            carried(tally, hosts, str(args.echo_server), str(args.analyze))
    except NotPermitted as error:
        print(f"SKIPPED: this machine makes no second host: {error}")
        return 0
    except PeerError as error:
        tally.record("the servers start and end", str(error))
    print(f"{tally.checks - tally.failed} passed, {tally.failed} failed")
    return 1 if tally.failed or not tally.checks else 0


if __name__ == "__main__":
    sys.exit(main())
