package analyze.peer;

import com.google.protobuf.ByteString;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** What is answered to a payload, and when: what the handler of every service here does. */
final class Answers {
    private final int responseSize;
    private final boolean wrong;
    /** Runs work after the sleep, or null where there is none. */
    private final Executor later;

    Answers(Options options) {
        responseSize = options.responseSize();
        wrong = options.wrong();
        long nanos = options.sleep().toNanos();
        later = nanos == 0 ? null : CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS);
    }

    /** Null where a call is answered at once. */
    Executor later() {
        return later;
    }

    /** The reply's payload: an echo shares the request's bytes, as a program that passes them on would. */
    ByteString of(ByteString payload) {
        if (wrong) {
            return ByteString.copyFrom(spoiled(payload.toByteArray()));
        }
        if (responseSize < 0 || responseSize == payload.size()) {
            return payload;
        }
        return responseSize < payload.size()
                ? payload.substring(0, responseSize)
                : ByteString.copyFrom(repeated(payload.toByteArray()));
    }

    byte[] of(byte[] payload) {
        if (wrong) {
            return spoiled(payload);
        }
        return responseSize < 0 || responseSize == payload.length ? payload : repeated(payload);
    }

    /** The payload over and over, or cut; zeros where there is none. */
    private byte[] repeated(byte[] payload) {
        byte[] reply = new byte[responseSize];
        for (int at = 0; payload.length > 0 && at < reply.length; at += payload.length) {
            System.arraycopy(payload, 0, reply, at, Math.min(payload.length, reply.length - at));
        }
        return reply;
    }

    /** Of the same length with its end changed, so that a check by length alone passes; one byte for none. */
    private static byte[] spoiled(byte[] payload) {
        if (payload.length == 0) {
            return new byte[] {'!'};
        }
        byte[] other = Arrays.copyOf(payload, payload.length);
        other[other.length - 1] ^= 1;
        return other;
    }
}
