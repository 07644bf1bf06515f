"""grpcio, as its users call it, against one of our servers: `client.py triple|triple-gzip|grpc|grpc-gzip HOST:PORT`."""

import os
import sys
import threading

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import benchmark_pb2
import benchmark_pb2_grpc
import envelopes
from pychecks import KIB, MIB, OVERSIZE, SIZES, Checks, expect_echo, payload

SERVICE = "/benchmark.BenchmarkService/"
TIMEOUT = 40
GZIP = grpc.Compression.Gzip
UNLIMITED = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class Client:
    def __init__(self, addr):
        self.channel = grpc.insecure_channel(addr, options=UNLIMITED)
        self.stub = benchmark_pb2_grpc.BenchmarkServiceStub(self.channel)

    def unary(self, size, **options):
        sent = payload(size)
        reply = self.stub.UnaryCall(benchmark_pb2.BenchmarkRequest(payload=sent), timeout=TIMEOUT, **options)
        expect_echo(sent, reply.payload)

    def unary_at_once(self, calls):
        sent = [payload(1 + 37 * i, seed=i) for i in range(calls)]
        futures = [
            self.stub.UnaryCall.future(benchmark_pb2.BenchmarkRequest(payload=data), timeout=TIMEOUT) for data in sent
        ]
        for data, future in zip(sent, futures):
            expect_echo(data, future.result().payload)

    def stream_write_all_first(self, sizes, **options):
        sent = [payload(size, seed=i) for i, size in enumerate(sizes)]
        requests = (benchmark_pb2.BenchmarkRequest(payload=data) for data in sent)
        replies = [reply.payload for reply in self.stub.StreamCall(requests, timeout=TIMEOUT, **options)]
        if len(replies) != len(sent):
            raise AssertionError(f"sent {len(sent)} messages, got {len(replies)}")
        for data, reply in zip(sent, replies):
            expect_echo(data, reply)

    def stream_in_turn(self, sizes):
        """Each message goes only when the echo of the one before has come: a server that collects a stream hangs."""
        received = []

        def requests():
            for i, size in enumerate(sizes):
                if len(received) != i:
                    raise AssertionError(f"message {i} asked for after {len(received)} echoes")
                yield benchmark_pb2.BenchmarkRequest(payload=payload(size, seed=i))
                turn.acquire(timeout=TIMEOUT)

        turn = threading.Semaphore(0)
        for i, reply in enumerate(self.stub.StreamCall(requests(), timeout=TIMEOUT)):
            expect_echo(payload(sizes[i], seed=i), reply.payload)
            received.append(reply)
            turn.release()
        if len(received) != len(sizes):
            raise AssertionError(f"sent {len(sizes)} messages, got {len(received)}")

    def raw_unary(self, path, message=b"", **options):
        call = self.channel.unary_unary(path, lambda m: m, lambda m: m)
        return call(message, timeout=TIMEOUT, **options)

    def gzip_bomb(self):
        zeros = benchmark_pb2.BenchmarkRequest(payload=bytes(OVERSIZE)).SerializeToString()
        self.raw_unary(SERVICE + "UnaryCall", zeros, compression=GZIP)

    def envelope(self, value, **options):
        envelopes.expect_value_echo(value, self.raw_unary(SERVICE + "UnaryCall", envelopes.request(value), **options))

    def envelopes_at_once(self, calls):
        call = self.channel.unary_unary(SERVICE + "UnaryCall", envelopes.request, lambda reply: reply)
        values = [payload(1 + 37 * i, seed=i) for i in range(calls)]
        for value, future in zip(values, [call.future(value, timeout=TIMEOUT) for value in values]):
            envelopes.expect_value_echo(value, future.result())

    def no_envelope(self):
        """A message of the schema whose payload is the name of a serialization is one all the same."""
        sent = benchmark_pb2.BenchmarkRequest(payload=envelopes.MSGPACK.encode())
        expect_echo(sent.payload, self.stub.UnaryCall(sent, timeout=TIMEOUT).payload)

    def folded_method(self):
        sent = benchmark_pb2.BenchmarkRequest(payload=payload(128)).SerializeToString()
        expect_echo(sent, self.raw_unary(SERVICE + "unaryCall", sent))

    def health(self):
        stub = health_pb2_grpc.HealthStub(self.channel)
        request = health_pb2.HealthCheckRequest(service="")
        statuses = [stub.Check(request, timeout=TIMEOUT).status]
        watch = stub.Watch(request, timeout=TIMEOUT)
        statuses.append(next(watch).status)
        watch.cancel()
        if statuses != [health_pb2.HealthCheckResponse.SERVING] * 2:
            raise AssertionError(f"Check and Watch said {statuses}")


def expect_status(code, call, *args, **options):
    try:
        call(*args, **options)
    except grpc.RpcError as error:
        if error.code() != code:
            raise AssertionError(f"expected {code.name}, got {error.code().name}: {error.details()}") from None
    else:
        raise AssertionError(f"expected {code.name}, the call succeeded")


def main():
    server, addr = sys.argv[1], sys.argv[2]
    checks, client = Checks(), Client(addr)
    unimplemented = grpc.StatusCode.UNIMPLEMENTED
    # tonic as it comes: OUT_OF_RANGE for oversize, no gzip unless it is switched on.
    tonic, takes_gzip = server.startswith("grpc"), server != "grpc"
    oversize = grpc.StatusCode.OUT_OF_RANGE if tonic else grpc.StatusCode.RESOURCE_EXHAUSTED

    for name, size in SIZES.items():
        checks.run(f"unary {name}", client.unary, size)
    checks.run("300 unary calls at once", client.unary_at_once, 300)
    checks.run("stream, all written first", client.stream_write_all_first, SIZES.values())
    checks.run("stream, in turn", client.stream_in_turn, list(SIZES.values()) * 3)
    checks.run("stream of one", client.stream_write_all_first, [128])
    checks.run("unknown method", expect_status, unimplemented, client.raw_unary, SERVICE + "NoSuchCall")
    checks.run("unknown service", expect_status, unimplemented, client.raw_unary, "/no.Such/UnaryCall")
    checks.run("oversize", expect_status, oversize, client.unary, OVERSIZE)
    checks.run("oversize in a stream", expect_status, oversize, client.stream_write_all_first, [OVERSIZE])
    if takes_gzip:
        for name, size in SIZES.items():
            checks.run(f"unary {name}, request gzipped", client.unary, size, compression=GZIP)
        checks.run("stream gzipped", client.stream_write_all_first, [0, 128, MIB], compression=GZIP)
        too_much = grpc.StatusCode.RESOURCE_EXHAUSTED
        checks.run("oversize only once decompressed", expect_status, too_much, client.gzip_bomb)
    else:
        checks.run("request gzipped is refused", expect_status, unimplemented, client.unary, 128, compression=GZIP)
    if not tonic:
        triple_only(checks, client)
    checks.run("unary on the same channel after the refusals", client.unary, 16 * KIB)
    checks.close()


def triple_only(checks, client):
    for name, value in envelopes.cases():
        checks.run(f"msgpack in an envelope: {name}", client.envelope, value)
    checks.run("msgpack in an envelope, request gzipped", client.envelope, payload(16 * KIB), compression=GZIP)
    checks.run("100 envelopes at once", client.envelopes_at_once, 100)
    checks.run("a payload that begins like an envelope", client.no_envelope)
    checks.run("health Check and Watch", client.health)
    checks.run("method with its first letter folded", client.folded_method)


main()
