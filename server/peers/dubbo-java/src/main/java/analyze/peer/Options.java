package analyze.peer;

import analyze.agent.Agent;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The flags, as our own servers have them.
 *
 * @param addr where to serve; port 0 is a free one
 * @param debugAddr where the debug endpoints are to be, or null
 * @param dubbo whether Dubbo's own protocol is spoken, and not Triple
 * @param responseSize length of each reply's payload, or -1 for that of the request
 * @param sleep how long each call waits before its reply
 * @param wrong whether to answer with other bytes, so that a client's checks can be checked
 */
record Options(
        InetSocketAddress addr, InetSocketAddress debugAddr, boolean dubbo, int responseSize, Duration sleep, boolean wrong) {

    static final String USAGE = """
            usage: java -jar server.jar [--addr IP:PORT] [--debug-addr IP:PORT|off] [--protocol triple|dubbo]
                                        [--response-size BYTES] [--sleep TIME] [--wrong]
            """;

    private static final int LARGEST_RESPONSE = 1 << 30;
    private static final Pattern TIME = Pattern.compile("(\\d{1,15})(ns|us|ms|s)");
    private static final Map<String, Long> NANOS = Map.of("ns", 1L, "us", 1_000L, "ms", 1_000_000L, "s", 1_000_000_000L);
    private static final Duration LONGEST_SLEEP = Duration.ofHours(1);

    static Options parse(String[] args) {
        InetSocketAddress addr = Agent.parse("127.0.0.1:0");
        InetSocketAddress debugAddr = null;
        boolean dubbo = false;
        int responseSize = -1;
        Duration sleep = Duration.ZERO;
        boolean wrong = false;
        for (int i = 0; i < args.length; i++) {
            String flag = args[i];
            if (flag.equals("--wrong")) {
                wrong = true;
                continue;
            }
            if (i + 1 == args.length) {
                throw new IllegalArgumentException(flag + ": no such flag, or its value is missing");
            }
            String value = args[++i];
            switch (flag) {
                case "--addr" -> addr = Agent.parse(value);
                case "--debug-addr" -> debugAddr = value.equals("off") ? null : Agent.parse(value);
                case "--protocol" -> dubbo = isDubbo(value);
                case "--response-size" -> responseSize = size(value);
                case "--sleep" -> sleep = time(value);
                default -> throw new IllegalArgumentException(flag + ": no such flag");
            }
        }
        return new Options(addr, debugAddr, dubbo, responseSize, sleep, wrong);
    }

    private static boolean isDubbo(String value) {
        return switch (value) {
            case "triple" -> false;
            case "dubbo" -> true;
            default -> throw new IllegalArgumentException("--protocol " + value + ": allowed are triple and dubbo");
        };
    }

    private static int size(String value) {
        try {
            int size = Integer.parseInt(value);
            if (size >= 0 && size <= LARGEST_RESPONSE) {
                return size;
            }
        } catch (NumberFormatException error) {
            // Said below.
        }
        throw new IllegalArgumentException("--response-size " + value + ": allowed are 0 to " + LARGEST_RESPONSE);
    }

    private static Duration time(String value) {
        Matcher parts = TIME.matcher(value);
        if (parts.matches()) {
            try {
                long nanos = Math.multiplyExact(Long.parseLong(parts.group(1)), NANOS.get(parts.group(2)));
                if (nanos <= LONGEST_SLEEP.toNanos()) {
                    return Duration.ofNanos(nanos);
                }
            } catch (ArithmeticException error) {
                // Said below.
            }
        }
        throw new IllegalArgumentException("--sleep " + value + ": allowed are times such as 250us, 5ms or 2s, at most 1h");
    }
}
