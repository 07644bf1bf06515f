"""A grpcio echo server: `server.py [--gzip] [--wrong]`. One JSON ready line; serves until its process is ended.

A message in one of Triple's envelopes is answered in one. `--gzip` compresses every reply to a client that takes it.
`--wrong` makes an echo that every check of a client must notice: other bytes, unknown methods answered, no limit.
"""

import json
import os
import sys
import threading
from concurrent import futures

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import envelopes
from benchmark_pb2 import BenchmarkRequest, BenchmarkResponse

SERVICE = "benchmark.BenchmarkService"
LIMIT = 16 * 1024 * 1024


def unchanged(value):
    return value


def spoiled(value):
    """The same length with its end changed, so that a check by length alone passes; one byte for none."""
    if isinstance(value, dict):
        return {key: spoiled(field) for key, field in value.items()}
    if isinstance(value, str):
        return value[:-1] + ("?" if value[-1:] == "!" else "!")
    return value[:-1] + bytes([value[-1] ^ 1]) if value else b"!"


def echo(change):
    """The service, on messages as they are on the wire: what they hold says what they are."""

    def plain(message):
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


def main():
    wrong, gzip = "--wrong" in sys.argv[1:], "--gzip" in sys.argv[1:]
    limit = -1 if wrong else LIMIT
    options = [("grpc.max_receive_message_length", limit), ("grpc.max_send_message_length", -1)]
    handlers = [echo(spoiled), AnswersEverything()] if wrong else [echo(unchanged)]
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=16),
        handlers=handlers,
        options=options,
        compression=grpc.Compression.Gzip if gzip else None,
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(json.dumps({"addr": f"127.0.0.1:{port}"}), flush=True)
    threading.Event().wait()


main()
