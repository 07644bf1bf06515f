package analyze.peer;

import analyze.agent.Ops;
import benchmark.Benchmark.BenchmarkRequest;
import benchmark.Benchmark.BenchmarkResponse;
import benchmark.DubboBenchmarkServiceTriple.BenchmarkServiceImplBase;
import java.util.concurrent.CompletableFuture;
import org.apache.dubbo.common.stream.StreamObserver;

/** The service of the schema, on the stub that Dubbo generates for it, written as Dubbo's users write it. */
final class Echo extends BenchmarkServiceImplBase {
    private final Ops unary = Ops.method(SERVICE_NAME + "/UnaryCall");
    private final Ops stream = Ops.method(SERVICE_NAME + "/StreamCall");
    private final Answers answers;

    Echo(Answers answers) {
        this.answers = answers;
    }

    @Override
    public BenchmarkResponse unaryCall(BenchmarkRequest request) {
        unary.started();
        return answer(request, unary);
    }

    @Override
    public CompletableFuture<BenchmarkResponse> unaryCallAsync(BenchmarkRequest request) {
        if (answers.later() == null) {
            return super.unaryCallAsync(request);
        }
        unary.started();
        return CompletableFuture.supplyAsync(() -> answer(request, unary), answers.later());
    }

    @Override
    public StreamObserver<BenchmarkRequest> streamCall(StreamObserver<BenchmarkResponse> replies) {
        return answers.later() == null ? new Stream(replies) : new SlowStream(replies);
    }

    private BenchmarkResponse answer(BenchmarkRequest request, Ops ops) {
        BenchmarkResponse reply = BenchmarkResponse.newBuilder().setPayload(answers.of(request.getPayload())).build();
        ops.ok();
        return reply;
    }

    private class Stream implements StreamObserver<BenchmarkRequest> {
        final StreamObserver<BenchmarkResponse> replies;

        Stream(StreamObserver<BenchmarkResponse> replies) {
            this.replies = replies;
        }

        @Override
        public void onNext(BenchmarkRequest request) {
            stream.started();
            replies.onNext(answer(request, stream));
        }

        /** The client has gone; there is nobody to tell. */
        @Override
        public void onError(Throwable error) {}

        @Override
        public void onCompleted() {
            replies.onCompleted();
        }
    }

    /** Sleeps before each reply, one after the other. */
    private final class SlowStream extends Stream {
        private CompletableFuture<Void> last = CompletableFuture.completedFuture(null);

        SlowStream(StreamObserver<BenchmarkResponse> replies) {
            super(replies);
        }

        @Override
        public synchronized void onNext(BenchmarkRequest request) {
            stream.started();
            last = last.thenRunAsync(() -> replies.onNext(answer(request, stream)), answers.later());
        }

        @Override
        public synchronized void onCompleted() {
            last.thenRun(replies::onCompleted);
        }
    }
}
