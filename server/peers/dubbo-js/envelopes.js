// Triple's envelopes around values that are no protobuf messages, with libraries of their own kind: hessian.js and
// @msgpack/msgpack.
import { decode as decodeMsgpack, encode as encodeMsgpack } from "@msgpack/msgpack";
import { MethodKind, ScalarType, proto3 } from "@bufbuild/protobuf";
import hessian from "hessian.js";

const field = (no, name, T, repeated = false) => ({ no, name, kind: "scalar", T, repeated });

export const TripleRequestWrapper = proto3.makeMessageType("org.apache.dubbo.triple.TripleRequestWrapper", () => [
  field(1, "serializeType", ScalarType.STRING),
  field(2, "args", ScalarType.BYTES, true),
  field(3, "argTypes", ScalarType.STRING, true),
]);
export const TripleResponseWrapper = proto3.makeMessageType("org.apache.dubbo.triple.TripleResponseWrapper", () => [
  field(1, "serializeType", ScalarType.STRING),
  field(2, "data", ScalarType.BYTES),
  field(3, "type", ScalarType.STRING),
]);

/** The echo service as one without a schema is called. */
export const EnvelopeService = {
  typeName: "benchmark.BenchmarkService",
  methods: {
    unaryCall: { name: "UnaryCall", kind: MethodKind.Unary, I: TripleRequestWrapper, O: TripleResponseWrapper },
  },
};

// Objects keep their class: {$class, $: fields}.
const hessian2 = {
  encode: (value) => hessian.encode(value, "2.0"),
  decode: (data) => hessian.decode(Buffer.from(data), "2.0", true),
};

/** By the name in the envelope; dubbo-java's name for Hessian 2 is hessian4. */
export const codecs = {
  hessian2,
  hessian4: hessian2,
  msgpack: { encode: (value) => encodeMsgpack(value), decode: (data) => decodeMsgpack(data) },
};

/** A value as the envelope of a call. */
export function enclose(serializeType, value, argType) {
  return { serializeType, args: [codecs[serializeType].encode(value)], argTypes: [argType] };
}
