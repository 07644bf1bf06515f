// The echo of benchmark.proto in Thrift: the same names, and a payload of bytes.
namespace go thriftbenchmark

struct BenchmarkRequest {
    1: binary payload
}

struct BenchmarkResponse {
    1: binary payload
}

service BenchmarkService {
    BenchmarkResponse UnaryCall(1: BenchmarkRequest request)
}
