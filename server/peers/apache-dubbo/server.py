"""An apache-dubbo echo server: `server.py`. One JSON ready line; serves until its process is ended.

It answers no empty payload: it takes an empty message for its own clients' closing one.
"""

import json
import socket
import threading

import dubbo
from dubbo.configs import ServiceConfig
from dubbo.proxy.handlers import RpcMethodHandler, RpcServiceHandler

from benchmark_pb2 import BenchmarkRequest, BenchmarkResponse


def decode(data):
    return BenchmarkRequest.FromString(data).payload


def encode(data):
    return BenchmarkResponse(payload=data).SerializeToString()


def unary(data):
    return data


def stream(messages):
    yield from messages


def free_port():
    """The library cannot bind port 0 and tell which port it got."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def main():
    codec = {"request_deserializer": decode, "response_serializer": encode}
    handler = RpcServiceHandler(
        service_name="benchmark.BenchmarkService",
        method_handlers=[
            RpcMethodHandler.unary(method=unary, method_name="UnaryCall", **codec),
            RpcMethodHandler.bi_stream(method=stream, method_name="StreamCall", **codec),
        ],
    )
    port = free_port()
    dubbo.Server(ServiceConfig(service_handler=handler, host="127.0.0.1", port=port)).start()
    print(json.dumps({"addr": f"127.0.0.1:{port}"}), flush=True)
    threading.Event().wait()


main()
