package analyze.agent;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/**
 * Debug endpoints for any program on the JVM: {@code java -javaagent:agent.jar=addr=127.0.0.1:8000 …}, or
 * {@link #serve} in a program that has this jar on its class path.
 */
public final class Agent {
    /** Where the endpoints are, {@code http://HOST:PORT}, once they are. */
    public static final String URL_PROPERTY = "analyze.debug.url";

    private static final String ALLOWED = "allowed are addr=IP:PORT (port 0 takes a free one) and, behind a comma, allow-remote";

    private Agent() {}

    /**
     * What the JVM calls before {@code main}. What is wrong with the options ends the program: a measurement without its
     * counters is none.
     */
    public static void premain(String options) {
        try {
            InetSocketAddress addr = null;
            boolean allowRemote = false;
            for (String option : options == null ? new String[0] : options.split(",")) {
                if (option.startsWith("addr=")) {
                    addr = parse(option.substring("addr=".length()));
                } else if (option.equals("allow-remote")) {
                    allowRemote = true;
                } else {
                    throw new IllegalArgumentException("option " + option);
                }
            }
            if (addr != null) {
                System.err.println("debug endpoints on " + serve(addr, allowRemote) + "/debug/vars");
            }
        } catch (IllegalArgumentException error) {
            System.err.println("-javaagent: " + error.getMessage() + "; " + ALLOWED);
            System.exit(2);
        } catch (IOException error) {
            System.err.println("-javaagent: " + options + ": " + error.getMessage());
            System.exit(1);
        }
    }

    /**
     * Serves the endpoints until the program ends, from daemon threads whose allocations are not counted.
     *
     * @return {@code http://HOST:PORT}; where they are served already, that place, and nothing is served anew
     * @throws IllegalArgumentException the address is not loopback, and no other was asked for
     */
    public static synchronized String serve(InetSocketAddress addr, boolean allowRemote) throws IOException {
        String served = System.getProperty(URL_PROPERTY);
        if (served != null) {
            return served;
        }
        if (!allowRemote && !addr.getAddress().isLoopbackAddress()) {
            throw new IllegalArgumentException("addr=" + addr + " is not loopback");
        }
        String url = "http://" + authority(Endpoints.start(addr));
        System.setProperty(URL_PROPERTY, url);
        return url;
    }

    /**
     * An address as its text, {@code 127.0.0.1:8000} or {@code [::1]:8000}; names are not looked up.
     *
     * @throws IllegalArgumentException it is none
     */
    public static InetSocketAddress parse(String text) {
        int colon = text.lastIndexOf(':');
        String host = colon < 0 ? "" : text.substring(0, colon);
        if (!host.matches("[0-9.]+|\\[[0-9a-fA-F:.]+\\]")) {
            throw new IllegalArgumentException("address " + text);
        }
        try {
            return new InetSocketAddress(InetAddress.getByName(host), Integer.parseInt(text.substring(colon + 1)));
        } catch (UnknownHostException | IllegalArgumentException error) {
            throw new IllegalArgumentException("address " + text, error);
        }
    }

    /** The text of an address, as {@link #parse} reads it. */
    public static String authority(InetSocketAddress addr) {
        String host = addr.getAddress().getHostAddress();
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + addr.getPort();
    }
}
