"""An apache-dubbo echo server: `server.py`. One JSON ready line; serves until its process is ended.

A message in one of Triple's envelopes is answered in one. It answers no empty payload: it takes an empty message for its
own clients' closing one.
"""

import json
import os
import random
import socket
import sys
import threading

import dubbo
from dubbo.configs import ServiceConfig
from dubbo.proxy.handlers import RpcMethodHandler, RpcServiceHandler

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import envelopes
from benchmark_pb2 import BenchmarkRequest, BenchmarkResponse


def as_it_is(message):
    return message


def plain(message):
    return BenchmarkResponse(payload=BenchmarkRequest.FromString(message).payload).SerializeToString()


def unary(message):
    in_envelope = envelopes.answer(message)
    return plain(message) if in_envelope is None else in_envelope


def stream(messages):
    yield from map(plain, messages)


def free_port():
    """The library cannot bind port 0 and tell which port it got.

    It is none of those that the kernel gives to whoever asks for any, or another would have it before the library does.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range") as limits:
        first = int(limits.read().split()[0])
    for port in random.sample(range(10_000, first), 100):
        try:
            socket.create_server(("127.0.0.1", port)).close()
            return port
        except OSError:
            continue  # somebody serves there
    raise SystemExit(f"no free port from 10000 to {first - 1}")


def main():
    codec = {"request_deserializer": as_it_is, "response_serializer": as_it_is}
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
