package analyze.agent;

import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.LongAdder;

/** Requests that a server counts, by method; what it counts is in {@code /debug/vars} under {@code ops}. */
public final class Ops {
    private static final Map<String, Ops> METHODS = new ConcurrentSkipListMap<>();

    private final LongAdder started = new LongAdder();
    private final LongAdder ok = new LongAdder();
    private final LongAdder error = new LongAdder();

    private Ops() {}

    /** The counters of a method, such as {@code my.Service/Call}: keep them. */
    public static Ops method(String name) {
        return METHODS.computeIfAbsent(name, missing -> new Ops());
    }

    /** A request came. */
    public void started() {
        started.increment();
    }

    /** One that came was answered. */
    public void ok() {
        ok.increment();
    }

    /** One that came failed. */
    public void error() {
        error.increment();
    }

    static void write(Json json) {
        json.object("ops", () -> METHODS.forEach((name, ops) -> json.object(name, () -> {
            json.number("started", ops.started.sum());
            json.number("ok", ops.ok.sum());
            json.number("error", ops.error.sum());
        })));
    }
}
