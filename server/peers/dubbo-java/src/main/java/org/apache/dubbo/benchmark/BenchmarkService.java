package org.apache.dubbo.benchmark;

/** The echo of Dubbo's own protocol, with the names that Dubbo's benchmark has. */
public interface BenchmarkService {
    BenchmarkResponse unaryCall(BenchmarkRequest request);
}
