package analyze.peer;

import analyze.agent.Ops;
import org.apache.dubbo.benchmark.BenchmarkRequest;
import org.apache.dubbo.benchmark.BenchmarkResponse;
import org.apache.dubbo.benchmark.BenchmarkService;
import org.apache.dubbo.rpc.AsyncContext;
import org.apache.dubbo.rpc.RpcContext;

/** The service without a schema, of objects, for Dubbo's own protocol. */
final class ObjectEcho implements BenchmarkService {
    private final Ops unary = Ops.method("benchmark.BenchmarkService/UnaryCall");
    private final Answers answers;

    ObjectEcho(Answers answers) {
        this.answers = answers;
    }

    @Override
    public BenchmarkResponse unaryCall(BenchmarkRequest request) {
        unary.started();
        if (answers.later() == null) {
            return answer(request);
        }
        AsyncContext reply = RpcContext.startAsync();
        answers.later().execute(() -> reply.write(answer(request)));
        return null;
    }

    private BenchmarkResponse answer(BenchmarkRequest request) {
        BenchmarkResponse reply = new BenchmarkResponse(answers.of(request.getPayload()));
        unary.ok();
        return reply;
    }
}
