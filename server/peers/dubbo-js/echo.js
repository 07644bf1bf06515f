// The echo service as protoc-gen-es and protoc-gen-apache-dubbo-es would generate it from benchmark.proto.
import { MethodKind, ScalarType, proto3 } from "@bufbuild/protobuf";

const fields = () => [{ no: 1, name: "payload", kind: "scalar", T: ScalarType.BYTES }];
export const BenchmarkRequest = proto3.makeMessageType("benchmark.BenchmarkRequest", fields);
export const BenchmarkResponse = proto3.makeMessageType("benchmark.BenchmarkResponse", fields);

const method = (name, kind) => ({ name, kind, I: BenchmarkRequest, O: BenchmarkResponse });
export const BenchmarkService = {
  typeName: "benchmark.BenchmarkService",
  methods: {
    unaryCall: method("UnaryCall", MethodKind.Unary),
    streamCall: method("StreamCall", MethodKind.BiDiStreaming),
    noSuchCall: method("NoSuchCall", MethodKind.Unary),
  },
};
