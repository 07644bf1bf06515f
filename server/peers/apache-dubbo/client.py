"""apache-dubbo, as its users call it, against one of our servers: `client.py triple|triple-gzip|grpc|grpc-gzip HOST:PORT`.

Its habits: every call ends with an empty message of its own before END_STREAM; no deadline is sent; an error in a stream
is raised in its event loop and never reaches the caller, so errors are checked on unary calls only; a refusal that comes
before its data is sent can end its sender for good, so each has a client of its own; more than 4 MiB are refused by itself,
so nothing here is oversize.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import dubbo
from dubbo.configs import ReferenceConfig

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import envelopes
from benchmark_pb2 import BenchmarkRequest, BenchmarkResponse
from pychecks import KIB, SIZES, Checks, expect_echo, payload

SERVICE = "benchmark.BenchmarkService"


def encode(data):
    return BenchmarkRequest(payload=data).SerializeToString()


def decode(data):
    return BenchmarkResponse.FromString(data).payload


class Gzipped(ReferenceConfig):
    """The library compresses by a URL parameter, which its own ReferenceConfig has no way to set."""

    def to_url(self):
        url = super().to_url()
        url.parameters["compression"] = "gzip"
        return url


class Client:
    def __init__(self, addr, service=SERVICE, reference=ReferenceConfig):
        self.client = dubbo.Client(reference.from_url(f"tri://{addr}/{service}"))

    def call(self, method, data):
        return self.client.unary(method_name=method, request_serializer=encode, response_deserializer=decode)(data)

    def envelope(self, value):
        """The library's own hooks, which any serialization would go through."""
        hooks = {"request_serializer": envelopes.request, "response_deserializer": lambda reply: reply}
        envelopes.expect_value_echo(value, self.client.unary(method_name="UnaryCall", **hooks)(value))

    def unary(self, size, seed=0):
        sent = payload(size, seed)
        expect_echo(sent, self.call("UnaryCall", sent))

    def unary_at_once(self, calls):
        with ThreadPoolExecutor(max_workers=calls) as pool:
            for done in [pool.submit(self.unary, 1 + 37 * i, i) for i in range(calls)]:
                done.result()

    def open(self):
        make = self.client.bi_stream(method_name="StreamCall", request_serializer=encode, response_deserializer=decode)
        return make()

    def stream_write_all_first(self, sizes):
        stream = self.open()
        sent = [payload(size, seed=i) for i, size in enumerate(sizes)]
        for data in sent:
            stream.write(data)
        stream.done_writing()
        replies = list(stream)
        for data, reply in zip(sent, replies):
            expect_echo(data, reply)
        # The library's own closing message is one more empty echo, or is ignored as an empty end.
        extra = replies[len(sent):]
        if len(replies) < len(sent) or extra not in ([], [b""]):
            raise AssertionError(f"sent {len(sent)} messages, got {len(replies)}")

    def stream_in_turn(self, sizes):
        stream = self.open()
        for i, size in enumerate(sizes):
            sent = payload(size, seed=i)
            stream.write(sent)
            expect_echo(sent, stream.read(timeout=40))
        stream.done_writing()


def expect_refused(call, *args):
    """UNIMPLEMENTED; a plain HTTP 404, which is how dubbo-go refuses an unknown path, reads NOT_FOUND here."""
    try:
        call(*args)
    except Exception as error:
        if not any(code in str(error) for code in ("UNIMPLEMENTED", "NOT_FOUND")):
            raise AssertionError(f"expected UNIMPLEMENTED, got {type(error).__name__}: {error}") from None
    else:
        raise AssertionError("expected UNIMPLEMENTED, the call succeeded")


def main():
    server, addr = sys.argv[1], sys.argv[2]
    checks, client = Checks(), Client(addr)
    for name, size in SIZES.items():
        checks.run(f"unary {name}", client.unary, size)
    checks.run("32 unary calls at once", client.unary_at_once, 32)
    checks.run("stream, all written first", client.stream_write_all_first, [1, 128, 16 * KIB])
    checks.run("stream, in turn", client.stream_in_turn, [1, 128, 16 * KIB, 128])
    checks.run("unknown method", expect_refused, Client(addr).call, "NoSuchCall", b"x")
    checks.run("unknown service", expect_refused, Client(addr, service="no.Such").call, "UnaryCall", b"x")
    gzipping = Client(addr, reference=Gzipped)
    if server == "grpc":  # tonic as it comes takes no gzip
        checks.run("request gzipped is refused", expect_refused, gzipping.unary, 128)
    else:
        checks.run("request gzipped", gzipping.unary, 16 * KIB)
    if not server.startswith("grpc"):
        for name, value in envelopes.cases():
            checks.run(f"msgpack in an envelope: {name}", client.envelope, value)
    checks.close()


main()
