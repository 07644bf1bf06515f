"""Checks what a run of `analyze` left: `check_results.py OUT LABEL [FRAMEWORK…]`, of triple and grpc. Needs the package jsonschema.

Every result: valid by client/result.schema.json, the keys of dubbo-go's benchmark suite and ours present, the ledger closed,
every call right, its files there. For our RPC servers: allocations counted, and explained by their sites within 1 %; traced, and each
that the counters counted meanwhile with a fate. For those of others: what they were built from, and what their runtime counts.
"""

import json
import sys
from pathlib import Path

import jsonschema

SCHEMA = Path(__file__).resolve().parent.parent / "client" / "result.schema.json"
SUITE_KEYS = """framework payload_size serialization compression concurrency call_mode timestamp qps success_rate total_requests
success_requests failure_requests latency_p50_ms latency_p90_ms latency_p95_ms latency_p99_ms latency_min_ms latency_max_ms
latency_avg_ms cpu_avg_percent memory_peak_mb""".split()
OUR_KEYS = """unfinished_requests latency_p999_ms latency_stddev_ms bytes_per_op requested_bytes_per_op allocs_per_op frees_per_op
copies_per_op server_cpu_us_per_op client_cpu_us_per_op roofline_ratio client_bytes_per_op client_allocs_per_op rounds wire
environment sites files warnings schema_version payload_mix payload_pattern response_size messages_per_stream load response_p50_ms
response_p90_ms response_p95_ms response_p99_ms response_p999_ms response_min_ms response_max_ms response_avg_ms response_stddev_ms
sent_bytes_per_op received_bytes_per_op memory_avg_mb client_memory_avg_mb client_memory_peak_mb context_switches_per_op
page_faults_per_op syscalls_per_op client_context_switches_per_op client_page_faults_per_op client_syscalls_per_op slow_calls
missed_requests syscalls failure""".split()
RPC = {"triple", "grpc"}
SITES_TOLERANCE = 0.01
MEASURED_KEYS = """server_cpu_us_per_op sent_bytes_per_op received_bytes_per_op memory_avg_mb client_memory_avg_mb context_switches_per_op
client_context_switches_per_op""".split()
# The sizes that were asked for are a secret of Go's, and its allocation profile is sampled.
GO_KEYS = "allocs_per_op bytes_per_op frees_per_op".split()
GO_FILES = "cpu_profile allocs_profile heap_profile cpu_flamegraph alloc_space_flamegraph alloc_objects_flamegraph server_log".split()


def problems_of(path, schema):
    result = json.loads(path.read_text())
    yield from (f"schema: {error.json_path}: {error.message}" for error in schema.iter_errors(result))
    missing = [key for key in SUITE_KEYS + OUR_KEYS if key not in result]
    if missing:
        yield f"keys missing: {missing}"
        return
    if result["success_rate"] != 100 or not result["success_requests"]:
        yield f"success_rate {result['success_rate']} of {result['total_requests']} calls"
    ledger = result["success_requests"] + result["failure_requests"] + result["unfinished_requests"]
    if result["total_requests"] != ledger:
        yield f"{result['total_requests']} calls started, {ledger} accounted for"
    yield from (f"{name} is not there: {file}" for name, file in files_of(result) if not (path.parent / file).is_file())
    if result["framework"] in RPC:
        yield from rpc_problems(result)
        yield from trace_problems(path.parent, result)
    elif result["framework"] != "raw":
        yield from peer_problems(result)


def files_of(result):
    return [(name, file) for name, file in result["files"].items() if file is not None]


def figure_problems(result, keys):
    keys = [*keys, *MEASURED_KEYS]
    if result["load"]["kind"] == "closed" and not result["load"]["think_ms"] + result["load"]["sleep_ms"]:
        keys.append("roofline_ratio")
    for key in keys:
        if not (result[key] or 0) > 0:
            yield f"{key} is {result[key]}"
    if not result["wire"]:
        yield "the wire is unknown"


def peer_problems(result):
    built = {key: result["environment"][key] for key in ("framework_version", "runtime", "peer_build", "server_cpus")}
    if not all(built.values()):
        yield f"unknown of what was built: {built}"
    is_go = (built["runtime"] or "").startswith("go")
    yield from figure_problems(result, GO_KEYS if is_go else [])
    absent = [name for name in GO_FILES if is_go and result["files"][name] is None]
    if absent:
        yield f"not written: {absent}"


def rpc_problems(result):
    yield from figure_problems(result, ["allocs_per_op", "bytes_per_op", "requested_bytes_per_op", "copies_per_op"])
    direct = result["gateway"] is None
    wanted = [name for name in result["files"] if not (direct and name.startswith("gateway_"))]
    absent = [name for name in wanted if result["files"][name] is None]
    if absent:
        yield f"not written: {absent}"
    sites = result["sites"]
    if not sites or not sites["rows"]:
        yield "no allocating sites"
    elif abs(sites["total"]["allocs_per_op"] / result["allocs_per_op"] - 1) > SITES_TOLERANCE:
        yield f"sites hold {sites['total']['allocs_per_op']} allocs/op of {result['allocs_per_op']}"


def trace_problems(folder, result):
    if result["files"]["trace"] is None:
        return
    trace = json.loads((folder / result["files"]["trace"]).read_text())["trace"]
    fates = [stack[fate] for stack in trace["stacks"] for fate in ("within", "later", "kept", "after")]
    sums = {name: sum(fate[key] for fate in fates) for name, key in (("allocs", "blocks"), ("usable_bytes", "bytes"))}
    counted = {name: trace["check"]["counted"][name] for name in sums}
    if sums != counted:
        yield f"the fates of {sums} are traced, and {counted} were counted"


def main():
    out, label, wanted = Path(sys.argv[1]), sys.argv[2], set(sys.argv[3:]) or RPC
    schema = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    paths = sorted((out / "data" / label).glob("*.json"))
    failed = 0
    for path in paths:
        problems = list(problems_of(path, schema))
        print(f"{'FAIL' if problems else 'ok  '} {path.name}", *problems, sep="\n     ")
        failed += bool(problems)
    absent = wanted - {json.loads(path.read_text()).get("framework") for path in paths}
    if absent:
        print(f"FAIL no result for {sorted(absent)} in {out / 'data' / label}")
    return 1 if failed or absent else 0


if __name__ == "__main__":
    sys.exit(main())
