package org.apache.dubbo.benchmark;

import java.io.Serializable;

/** A message: a payload and nothing else. */
public final class BenchmarkRequest implements Serializable {
    private static final long serialVersionUID = 1;

    private byte[] payload;

    public BenchmarkRequest() {}

    public BenchmarkRequest(byte[] payload) {
        this.payload = payload;
    }

    public byte[] getPayload() {
        return payload;
    }

    public void setPayload(byte[] payload) {
        this.payload = payload;
    }
}
