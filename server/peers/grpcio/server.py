"""A grpcio echo server: one JSON ready line on stdout; SIGTERM lets calls in flight end and leads to exit code 0.

A message in one of Triple's envelopes is answered in one. It has no debug endpoints: what a process in C and Python allocates, nobody
counts. `--wrong` makes an echo that every check of a client must notice: other bytes, unknown methods answered, no limit.
"""

import argparse
import json
import os
import re
import signal
import sys
import time
from concurrent import futures
from pathlib import Path

import grpc

PEERS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(PEERS), str(PEERS.parent.parent / "target" / "peers" / "stubs")]
import envelopes
from benchmark_pb2 import BenchmarkRequest, BenchmarkResponse

SERVICE = "benchmark.BenchmarkService"
# Of a message: the payload, and what is around it.
LIMIT = 16 * 1024 * 1024 + 16 * 1024
DRAIN_SECONDS = 10
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def unchanged(value):
    return value


def spoiled(value):
    """The same length with its end changed, so that a check by length alone passes; one byte for none."""
    if isinstance(value, dict):
        return {key: spoiled(field) for key, field in value.items()}
    if isinstance(value, str):
        return value[:-1] + ("?" if value[-1:] == "!" else "!")
    return value[:-1] + bytes([value[-1] ^ 1]) if value else b"!"


def echo(change, sleep):
    """The service, on messages as they are on the wire: what they hold says what they are."""

    def plain(message):
        if sleep:
            time.sleep(sleep)
        return BenchmarkResponse(payload=change(BenchmarkRequest.FromString(message).payload)).SerializeToString()

    def unary(message, context):
        in_envelope = envelopes.answer(message, change)
        return plain(message) if in_envelope is None else in_envelope

    def stream(messages, context):
        yield from map(plain, messages)

    methods = {
        "UnaryCall": grpc.unary_unary_rpc_method_handler(unary),
        "StreamCall": grpc.stream_stream_rpc_method_handler(stream),
    }
    return grpc.method_handlers_generic_handler(SERVICE, methods)


class AnswersEverything(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(lambda message, context: spoiled(message))


def sized(size):
    """The payload repeated or cut, zeros where there is none. Other values are answered as they are."""

    def change(value):
        if not isinstance(value, bytes):
            return value
        return (value * (size // len(value) + 1))[:size] if value else bytes(size)

    return change


def seconds(text):
    parts = re.fullmatch(r"(\d+)(ns|us|ms|s)", text)
    if not parts:
        raise argparse.ArgumentTypeError(f"{text!r}: allowed are times such as 250us, 5ms or 2s")
    return int(parts[1]) * UNITS[parts[2]]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--addr", default="127.0.0.1:0", metavar="IP:PORT", help="port 0 takes a free one")
    parser.add_argument("--debug-addr", metavar="IP:PORT", help="taken, and there is none")
    parser.add_argument("--response-size", type=int, metavar="BYTES")
    parser.add_argument("--sleep", type=seconds, default=0, metavar="TIME")
    parser.add_argument("--gzip", action="store_true", help="compress every reply to a client that takes it")
    parser.add_argument("--wrong", action="store_true")
    return parser.parse_args()


def main():
    args = arguments()
    # The main thread has it: it waits below, and every thread that gRPC starts has it blocked.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    limit = -1 if args.wrong else LIMIT
    options = [("grpc.max_receive_message_length", limit), ("grpc.max_send_message_length", -1)]
    change = spoiled if args.wrong else unchanged if args.response_size is None else sized(args.response_size)
    handlers = [echo(change, args.sleep), *([AnswersEverything()] if args.wrong else [])]
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=16),
        handlers=handlers,
        options=options,
        compression=grpc.Compression.Gzip if args.gzip else None,
    )
    host = args.addr.rpartition(":")[0]
    port = server.add_insecure_port(args.addr)
    server.start()
    ready = {"ready": True, "addr": f"{host}:{port}", "debug_addr": None, "pid": os.getpid(), "cpus": []}
    print(json.dumps(ready), flush=True)
    signal.sigwait({signal.SIGTERM})
    server.stop(DRAIN_SECONDS).wait()


main()
