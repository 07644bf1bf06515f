package analyze.peer;

import com.alibaba.fastjson2.JSON;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Runs checks one by one and prints a line of JSON for each, as {@code pychecks.py} says. */
final class Checks {
    private static final int SECONDS = 60;
    private static final int LONGEST_DETAIL = 600;

    private int count;

    interface Check {
        void run() throws Exception;
    }

    private record Line(String check, boolean ok, String detail) {}

    void run(String name, Check check) {
        String detail = "";
        CompletableFuture<Void> done = CompletableFuture.runAsync(() -> {
            try {
                check.run();
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        });
        try {
            done.get(SECONDS, TimeUnit.SECONDS);
        } catch (Exception error) {
            Throwable cause = error;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            detail = cause.toString();
        }
        count++;
        boolean ok = detail.isEmpty();
        print(new Line(name, ok, detail.substring(0, Math.min(detail.length(), LONGEST_DETAIL))));
    }

    /** Also ends what hangs. */
    void close() {
        System.out.println("{\"done\":" + count + "}");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void print(Line line) {
        System.out.println(JSON.toJSONString(line));
    }

    /** Bytes that no off-by-one, truncation or mix-up of two calls leaves unchanged. */
    static byte[] payload(int size, long seed) {
        byte[] payload = new byte[size];
        new Random(size * 1_000_003L + seed).nextBytes(payload);
        return payload;
    }

    static void expectEcho(byte[] sent, byte[] got) {
        if (!Arrays.equals(sent, got)) {
            int at = Arrays.mismatch(sent, got);
            throw new AssertionError("sent %d bytes, got %d, first difference at %d".formatted(sent.length, got.length, at));
        }
    }
}
