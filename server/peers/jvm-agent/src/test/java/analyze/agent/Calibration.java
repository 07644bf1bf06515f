package analyze.agent;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/**
 * Allocates on demand and says how many bytes that were: a line of what to do on a connection, a line with the bytes back. With
 * {@code --wrong} it says half of them.
 */
final class Calibration {
    /** An array is its header, in front of its elements, in multiples of eight bytes. */
    private static final int HEADER = 16;

    private static final int LARGE = 100_000;
    private static final int SMALL = 8;

    /** Keeps the compiler from finding out that nobody needs the arrays. */
    private static volatile byte[] sink;

    private Calibration() {}

    public static void main(String[] args) throws IOException {
        int divisor = args.length > 0 && args[0].equals("--wrong") ? 2 : 1;
        String debug = Agent.serve(Agent.parse("127.0.0.1:0"), false);
        try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String addr = Agent.authority((InetSocketAddress) listener.getLocalSocketAddress());
            System.out.println("{\"ready\":true,\"addr\":\"%s\",\"debug_addr\":\"%s\"}".formatted(addr, debug));
            while (true) {
                try (Socket socket = listener.accept()) {
                    serve(socket, divisor);
                }
            }
        }
    }

    private static void serve(Socket socket, int divisor) throws IOException {
        BufferedReader asked = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(socket.getOutputStream(), true, StandardCharsets.UTF_8);
        for (String what = asked.readLine(); what != null; what = asked.readLine()) {
            answers.println(allocate(what) / divisor);
        }
    }

    private static long allocate(String what) {
        return switch (what) {
            case "nothing" -> 0;
            case "large" -> arrays(1000, LARGE);
            case "small" -> arrays(2_000_000, SMALL);
            case "ended threads" -> inThreads(100);
            default -> throw new IllegalArgumentException(what);
        };
    }

    private static long arrays(int count, int length) {
        for (int i = 0; i < count; i++) {
            sink = new byte[length];
        }
        return (long) count * ((HEADER + length + 7) / 8 * 8);
    }

    private static long inThreads(int count) {
        long bytes = 0;
        for (int i = 0; i < count; i++) {
            long[] allocated = new long[1];
            Thread thread = new Thread(() -> allocated[0] = arrays(20, LARGE));
            thread.start();
            try {
                thread.join();
            } catch (InterruptedException error) {
                throw new IllegalStateException(error);
            }
            bytes += allocated[0];
        }
        return bytes;
    }
}
