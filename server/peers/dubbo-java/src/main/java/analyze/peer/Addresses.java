package analyze.peer;

import analyze.agent.Agent;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketException;
import java.nio.ByteBuffer;

/** Addresses as Dubbo can be told them. */
final class Addresses {
    private Addresses() {}

    /** The host. Dubbo takes one that begins with 127 for a mistake and puts another in its place; as one number it takes it. */
    static String host(InetSocketAddress addr) {
        return addr.getAddress() instanceof Inet4Address host
                ? Integer.toUnsignedString(ByteBuffer.wrap(host.getAddress()).getInt())
                : addr.getAddress().getHostAddress();
    }

    /** Dubbo has no port 0: a port that was free a moment ago. */
    static InetSocketAddress withPort(InetSocketAddress addr) throws IOException {
        if (addr.getPort() != 0) {
            return addr;
        }
        try (ServerSocket socket = new ServerSocket()) {
            socket.bind(addr);
            return (InetSocketAddress) socket.getLocalSocketAddress();
        } catch (SocketException error) {
            throw new IOException("--addr " + Agent.authority(addr) + ": " + error.getMessage());
        }
    }
}
