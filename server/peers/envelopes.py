"""Triple's envelopes with the msgpack library, for the Python clients and servers: values that are no protobuf messages."""

import msgpack
from google.protobuf.message import DecodeError

from triple_wrapper_pb2 import TripleRequestWrapper, TripleResponseWrapper
from pychecks import MIB, expect_echo, payload

MSGPACK = "msgpack"
# Around the longest chunks of other serializations too: a server may hold all to one.
SIZES = [0, 1, 128, 8189, 8190, 64 * 1024, MIB]
STRINGS = {"empty": "", "ASCII": "bob", "beyond ASCII": "Grüße 中文 😀", "long": "a😀é中" * 10_000}
TYPE_NAMES = {bytes: "[B", str: "java.lang.String", dict: "java.util.Map"}


def cases():
    """(name, value): what an envelope must carry there and back unchanged."""
    for size in SIZES:
        yield f"{size} bytes", payload(size)
    for name, text in STRINGS.items():
        yield f"a string, {name}", text
    yield "an object", {"payload": payload(128)}
    yield "an object of 64 KiB", {"payload": payload(64 * 1024)}


def request(value):
    envelope = TripleRequestWrapper(serializeType=MSGPACK, args=[msgpack.packb(value)], argTypes=[TYPE_NAMES[type(value)]])
    return envelope.SerializeToString()


def expect_value_echo(value, reply):
    envelope = TripleResponseWrapper.FromString(reply)
    if envelope.serializeType != MSGPACK or envelope.type != TYPE_NAMES[type(value)]:
        raise AssertionError(f"sent {MSGPACK} {TYPE_NAMES[type(value)]}, got {envelope.serializeType!r} {envelope.type!r}")
    got = msgpack.unpackb(envelope.data)
    if type(got) is not type(value):
        raise AssertionError(f"sent {type(value).__name__}, got {type(got).__name__}")
    if isinstance(value, bytes):
        expect_echo(value, got)
    elif got != value:
        raise AssertionError(f"sent {str(value)[:60]}…, got {str(got)[:60]}…")


def answer(message, change=lambda value: value):
    """The reply to a request in an envelope, its value decoded, changed and encoded anew; None if it is in none."""
    try:
        envelope = TripleRequestWrapper.FromString(message)
    except DecodeError:
        return None
    if envelope.serializeType != MSGPACK or len(envelope.args) != 1 or len(envelope.argTypes) != 1:
        return None
    data = msgpack.packb(change(msgpack.unpackb(envelope.args[0])))
    return TripleResponseWrapper(serializeType=MSGPACK, data=data, type=envelope.argTypes[0]).SerializeToString()
