package analyze.agent;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The HTTP server: its threads are in a group of their own, which {@link Allocated} leaves out, and never end. */
final class Endpoints {
    /** A second one answers {@code /debug/vars} while the first records a profile. */
    private static final int THREADS = 2;

    private static final ThreadGroup OWN = new ThreadGroup("analyze-debug");

    private Endpoints() {}

    /** Where it listens. */
    static InetSocketAddress start(InetSocketAddress addr) throws IOException {
        ExecutorService workers = Executors.newFixedThreadPool(THREADS, work -> {
            Thread thread = new Thread(OWN, work, "analyze-debug");
            thread.setDaemon(true);
            return thread;
        });
        try {
            // From one of the threads, so that those which the server starts are of the group too.
            return workers.submit(() -> listen(addr, workers)).get();
        } catch (ExecutionException error) {
            workers.shutdown();
            throw new IOException("debug endpoints on " + Agent.authority(addr) + ": " + error.getCause().getMessage());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted");
        }
    }

    private static InetSocketAddress listen(InetSocketAddress addr, ExecutorService workers) throws IOException {
        HttpServer server = HttpServer.create(addr, 0);
        server.setExecutor(workers);
        Allocated allocated = new Allocated(OWN);
        server.createContext("/", exchange -> answer(exchange, allocated));
        server.start();
        return server.getAddress();
    }

    private static void answer(HttpExchange exchange, Allocated allocated) throws IOException {
        String path = exchange.getRequestURI().getPath();
        if (!exchange.getRequestMethod().equals("GET")) {
            exchange.getResponseHeaders().set("Allow", "GET");
            text(exchange, 405, "only GET\n");
        } else if (path.equals("/debug/vars")) {
            send(exchange, 200, "application/json", Vars.read(allocated));
        } else if (path.startsWith("/debug/pprof/")) {
            text(exchange, 501, "a JVM has no profile of every allocation and none of this kind; /debug/vars has its counters\n");
        } else {
            text(exchange, 404, "here is /debug/vars\n");
        }
    }

    private static void text(HttpExchange exchange, int status, String text) throws IOException {
        send(exchange, status, "text/plain; charset=utf-8", text);
    }

    private static void send(HttpExchange exchange, int status, String type, String text) throws IOException {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(status, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }
}
