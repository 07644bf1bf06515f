"""A grpcio echo server: `server.py [--wrong]`. One JSON ready line; serves until its process is ended.

`--wrong` makes an echo that every check of a client must notice: other bytes, unknown methods answered, no limit.
"""

import json
import sys
import threading
from concurrent import futures

import grpc

import benchmark_pb2
import benchmark_pb2_grpc

LIMIT = 16 * 1024 * 1024


class Echo(benchmark_pb2_grpc.BenchmarkServiceServicer):
    def UnaryCall(self, request, context):
        return benchmark_pb2.BenchmarkResponse(payload=request.payload)

    def StreamCall(self, requests, context):
        for request in requests:
            yield benchmark_pb2.BenchmarkResponse(payload=request.payload)


class WrongEcho(benchmark_pb2_grpc.BenchmarkServiceServicer):
    def UnaryCall(self, request, context):
        return benchmark_pb2.BenchmarkResponse(payload=spoiled(request.payload))

    def StreamCall(self, requests, context):
        for request in requests:
            yield benchmark_pb2.BenchmarkResponse(payload=spoiled(request.payload))


class AnswersEverything(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(lambda message, context: spoiled(message))


def spoiled(data):
    """The same length with the last byte flipped, so that a check by length alone passes; one byte for none."""
    return data[:-1] + bytes([data[-1] ^ 1]) if data else b"!"


def main():
    wrong = "--wrong" in sys.argv[1:]
    limit = -1 if wrong else LIMIT
    options = [("grpc.max_receive_message_length", limit), ("grpc.max_send_message_length", -1)]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=16), options=options)
    benchmark_pb2_grpc.add_BenchmarkServiceServicer_to_server(WrongEcho() if wrong else Echo(), server)
    if wrong:
        server.add_generic_rpc_handlers([AnswersEverything()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(json.dumps({"addr": f"127.0.0.1:{port}"}), flush=True)
    threading.Event().wait()


main()
