package analyze.peer;

import analyze.agent.Agent;
import benchmark.Benchmark.BenchmarkRequest;
import benchmark.Benchmark.BenchmarkResponse;
import benchmark.BenchmarkService;
import com.google.protobuf.ByteString;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.dubbo.common.stream.StreamObserver;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;
import org.apache.dubbo.rpc.RpcContext;
import org.apache.dubbo.rpc.StatusRpcException;
import org.apache.dubbo.rpc.TriRpcStatus;
import org.apache.dubbo.rpc.TriRpcStatus.Code;

/**
 * Dubbo's client, as its users call it, against one of our servers:
 * {@code java -cp server.jar analyze.peer.Client triple|triple-gzip|grpc|grpc-gzip HOST:PORT}.
 *
 * <p>With {@code DUBBO_RPC_TRI_COMPRESSOR=gzip} in its environment it compresses each request: Dubbo knows no other way, and none
 * for one call.
 */
final class Client {
    private static final String SERVICE = BenchmarkService.SERVICE_NAME;
    private static final int[] SIZES = {0, 1, 128, 16 << 10, 1 << 20};
    /** Around the longest chunk of Hessian too. */
    private static final int[] ENVELOPE_SIZES = {0, 1, 128, 8189, 8190, 32 << 10, 64 << 10, 1 << 20};
    /** The servers' limit is 16 MiB. */
    private static final int OVERSIZE = 17 << 20;
    private static final int TIMEOUT_MS = 40_000;

    /** Calls without a schema: the arguments are in Triple's envelope, in Hessian 2. */
    interface Envelopes {
        byte[] UnaryCall(byte[] payload);

        String UnaryCall(String text);

        Map<String, Object> UnaryCall(Map<String, Object> object);

        byte[] NoSuchCall(byte[] payload);
    }

    private static final boolean GZIP = "gzip".equals(System.getenv("DUBBO_RPC_TRI_COMPRESSOR"));

    private final InetSocketAddress addr;
    private final BenchmarkService stub;

    private Client(InetSocketAddress addr) {
        this.addr = addr;
        ReferenceConfig<BenchmarkService> reference = reference(BenchmarkService.class, SERVICE);
        reference.setProxy("nativestub");
        stub = reference.get();
    }

    public static void main(String[] args) {
        DubboBootstrap.getInstance().application(application()).start();
        String server = args[0];
        Client client = new Client(Agent.parse(args[1]));
        // tonic as it comes: OUT_OF_RANGE for oversize, no gzip unless it is switched on.
        boolean tonic = server.startsWith("grpc");
        boolean refusesGzip = server.equals("grpc") && GZIP;
        Checks checks = new Checks();
        if (refusesGzip) {
            checks.run("request gzipped is refused", () -> expect(Code.UNIMPLEMENTED, () -> client.unary(128)));
        } else {
            client.schema(checks, tonic);
        }
        if (!tonic) {
            client.envelopes(checks);
        }
        checks.close();
    }

    private void schema(Checks checks, boolean tonic) {
        // Dubbo does not compress an empty message, but says it did: Triple's servers take that, tonic does not.
        boolean refusesEmpty = tonic && GZIP;
        int[] sizes = refusesEmpty ? Arrays.copyOfRange(SIZES, 1, SIZES.length) : SIZES;
        if (refusesEmpty) {
            checks.run("0 B said to be gzipped is refused", () -> expect(Code.INTERNAL, () -> unary(0)));
        }
        for (int size : sizes) {
            checks.run("unary " + size + " B", () -> unary(size));
        }
        checks.run("300 unary calls at once", () -> unaryAtOnce(300));
        checks.run("attachments", this::attachments);
        checks.run("stream, all written first", () -> stream(sizes, false));
        checks.run("stream, in turn", () -> stream(sizes, true));
        checks.run("stream of one", () -> stream(new int[] {128}, true));
        Code refusal = tonic ? Code.OUT_OF_RANGE : Code.RESOURCE_EXHAUSTED;
        checks.run("oversize", () -> expectRefused(refusal, () -> unary(OVERSIZE)));
        checks.run("oversize in a stream", () -> expectRefused(refusal, () -> stream(new int[] {OVERSIZE}, true)));
        checks.run("unknown service", () -> {
            Envelopes nobody = reference(Envelopes.class, "no.Such").get();
            expect(Code.UNIMPLEMENTED, () -> nobody.UnaryCall(Checks.payload(128, 0)));
        });
        checks.run("unary after the refusals", () -> unary(16 << 10));
    }

    private void envelopes(Checks checks) {
        Envelopes envelopes = reference(Envelopes.class, SERVICE).get();
        for (int size : ENVELOPE_SIZES) {
            byte[] sent = Checks.payload(size, 0);
            checks.run("hessian2 in an envelope: " + size + " bytes", () -> Checks.expectEcho(sent, envelopes.UnaryCall(sent)));
        }
        for (String text : List.of("", "bob", "Grüße 中文 😀", "a😀é中".repeat(10_000))) {
            checks.run("hessian2 in an envelope: a string of " + text.length(), () -> expectEqual(text, envelopes.UnaryCall(text)));
        }
        checks.run("hessian2 in an envelope: a map", () -> {
            Map<String, Object> sent = new HashMap<>(Map.of("payload", Checks.payload(64 << 10, 0)));
            Map<String, Object> got = envelopes.UnaryCall(sent);
            expectEqual(sent.keySet(), got.keySet());
            Checks.expectEcho((byte[]) sent.get("payload"), (byte[]) got.get("payload"));
        });
        checks.run("hessian2 in an envelope: unknown method", () -> {
            expect(Code.UNIMPLEMENTED, () -> envelopes.NoSuchCall(Checks.payload(128, 0)));
        });
    }

    private void unary(int size) {
        byte[] sent = Checks.payload(size, 0);
        Checks.expectEcho(sent, stub.unaryCall(request(sent)).getPayload().toByteArray());
    }

    private void unaryAtOnce(int calls) {
        List<CompletableFuture<Void>> echoes = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            byte[] sent = Checks.payload(1 + 37 * i, i);
            echoes.add(stub.unaryCallAsync(request(sent))
                    .thenAccept(reply -> Checks.expectEcho(sent, reply.getPayload().toByteArray())));
        }
        echoes.forEach(CompletableFuture::join);
    }

    /** They become headers; the server must take any. */
    private void attachments() {
        for (Map.Entry<String, String> attachment : Map.of(
                "lower", "value", "UpperCase", "kept", "not-ascii", "Grüße 中文", "empty", "", "long", "x".repeat(4000)).entrySet()) {
            RpcContext.getClientAttachment().setAttachment(attachment.getKey(), attachment.getValue());
        }
        unary(128);
    }

    /** In turn, each message goes only when the echo of the one before has come: a server that collects a stream hangs. */
    private void stream(int[] sizes, boolean inTurn) throws Exception {
        Replies replies = new Replies();
        StreamObserver<BenchmarkRequest> requests = stub.streamCall(replies);
        for (int i = 0; i < sizes.length; i++) {
            requests.onNext(request(Checks.payload(sizes[i], i)));
            if (inTurn) {
                Checks.expectEcho(Checks.payload(sizes[i], i), replies.next());
            }
        }
        requests.onCompleted();
        for (int i = 0; !inTurn && i < sizes.length; i++) {
            Checks.expectEcho(Checks.payload(sizes[i], i), replies.next());
        }
        replies.expectEnd();
    }

    private static final class Replies implements StreamObserver<BenchmarkResponse> {
        private static final Object END = new Object();
        private final LinkedBlockingQueue<Object> events = new LinkedBlockingQueue<>();

        @Override
        public void onNext(BenchmarkResponse reply) {
            events.add(reply.getPayload().toByteArray());
        }

        @Override
        public void onError(Throwable error) {
            events.add(error);
        }

        @Override
        public void onCompleted() {
            events.add(END);
        }

        byte[] next() throws Exception {
            Object event = event();
            if (event == END) {
                throw new AssertionError("the stream ended before its echoes had come");
            }
            return (byte[]) event;
        }

        void expectEnd() throws Exception {
            if (event() != END) {
                throw new AssertionError("more came than was sent");
            }
        }

        private Object event() throws Exception {
            Object event = events.poll(TIMEOUT_MS, TimeUnit.MILLISECONDS);
            if (event == null) {
                throw new AssertionError("no reply");
            }
            if (event instanceof Exception error) {
                throw error;
            }
            return event;
        }
    }

    private static void expect(Code code, Checks.Check call) {
        TriRpcStatus status = failure(call);
        if (status.code != code) {
            throw new AssertionError("expected " + code + ", got " + status.code + ": " + status.description);
        }
    }

    /** Of a message that is still being written: where Dubbo hears first that it cannot write on, it says so in place of the code. */
    private static void expectRefused(Code code, Checks.Check call) {
        TriRpcStatus status = failure(call);
        boolean cutOff = status.code == Code.INTERNAL && "Http2 exception".equals(status.description);
        if (status.code != code && !cutOff) {
            throw new AssertionError("expected " + code + ", got " + status.code + ": " + status.description);
        }
    }

    private static TriRpcStatus failure(Checks.Check call) {
        try {
            call.run();
        } catch (Exception error) {
            Throwable cause = error;
            while (!(cause instanceof StatusRpcException) && cause.getCause() != null) {
                cause = cause.getCause();
            }
            return TriRpcStatus.getStatus(cause, cause.toString());
        }
        throw new AssertionError("the call succeeded");
    }

    private static void expectEqual(Object sent, Object got) {
        if (!sent.equals(got)) {
            throw new AssertionError("sent %.60s…, got %.60s…".formatted(sent, got));
        }
    }

    private static BenchmarkRequest request(byte[] payload) {
        return BenchmarkRequest.newBuilder().setPayload(ByteString.copyFrom(payload)).build();
    }

    private <T> ReferenceConfig<T> reference(Class<T> type, String path) {
        ReferenceConfig<T> reference = new ReferenceConfig<>();
        reference.setInterface(type);
        reference.setUrl("tri://" + Addresses.host(addr) + ":" + addr.getPort() + "/" + path + "?serialization=hessian2");
        reference.setTimeout(TIMEOUT_MS);
        reference.setRetries(0);
        return reference;
    }

    private static ApplicationConfig application() {
        ApplicationConfig application = new ApplicationConfig("client");
        application.setQosEnable(false);
        return application;
    }
}
