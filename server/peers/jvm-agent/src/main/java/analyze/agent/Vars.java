package analyze.agent;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.lang.management.RuntimeMXBean;

/** {@code /debug/vars}: the counters as JSON. Times are in the unit of their name; what cannot be told is null. */
final class Vars {
    private Vars() {}

    static String read(Allocated allocated) {
        // First: what writing the rest allocates is the agent's own, and left out all the same.
        long bytes = allocated.bytes();
        RuntimeMXBean runtime = ManagementFactory.getRuntimeMXBean();
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        return Json.object(json -> {
            json.string("runtime", "jvm");
            json.array("cmdline", () -> commandLine().forEachOrdered(json::string));
            json.object("process", () -> {
                json.number("pid", ProcessHandle.current().pid());
                json.numberOrNull("cpu_ns", cpuNs());
            });
            json.object("jvm", () -> {
                json.string("version", runtime.getVmName() + " " + runtime.getVmVersion());
                json.numberOrNull("allocated_bytes_serving", bytes);
                if (bytes < 0) {
                    json.string("allocated_bytes_missing", Allocated.MISSING);
                }
                json.object("heap", () -> {
                    json.number("used_bytes", heap.getUsed());
                    json.number("committed_bytes", heap.getCommitted());
                    json.numberOrNull("max_bytes", heap.getMax());
                });
                json.array("gc", () -> {
                    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
                        json.object(() -> {
                            json.string("name", collector.getName());
                            json.numberOrNull("count", collector.getCollectionCount());
                            json.numberOrNull("time_ms", collector.getCollectionTime());
                        });
                    }
                });
            });
            Ops.write(json);
        });
    }

    private static java.util.stream.Stream<String> commandLine() {
        ProcessHandle.Info info = ProcessHandle.current().info();
        return java.util.stream.Stream.concat(
                info.command().stream(), info.arguments().stream().flatMap(java.util.Arrays::stream));
    }

    private static long cpuNs() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system
                ? system.getProcessCpuTime()
                : -1;
    }
}
