package org.apache.dubbo.benchmark;

import java.io.Serializable;

/** A message: a payload and nothing else. */
public final class BenchmarkResponse implements Serializable {
    private static final long serialVersionUID = 1;

    private byte[] payload;

    public BenchmarkResponse() {}

    public BenchmarkResponse(byte[] payload) {
        this.payload = payload;
    }

    public byte[] getPayload() {
        return payload;
    }

    public void setPayload(byte[] payload) {
        this.payload = payload;
    }
}
