package analyze.agent;

import com.sun.management.ThreadMXBean;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.util.stream.Stream;

/**
 * Bytes allocated in the heap since the JVM started by all threads, those that have ended among them, but the agent's own.
 *
 * <p>The JVM keeps this total itself: {@code getTotalThreadAllocatedBytes}, new in JDK 21 and brought back to later releases of
 * 17. Adding up the threads that live, in its place, would lose what a thread allocated since one last looked, so a JVM without
 * it counts nothing here. A thread's count includes the used part of its current buffer (TLAB): the total is exact while the
 * threads rest, and a moment old for those that run. Memory outside of the heap, such as Netty's direct buffers, is not in it.
 */
final class Allocated {
    static final String MISSING =
            "this JVM has no count of the bytes that ended threads allocated (getTotalThreadAllocatedBytes): JDK 21 or newer, "
                    + "or a late release of 17, has";

    private static final ThreadMXBean THREADS = threads();
    private static final MethodHandle TOTAL = find();

    private final ThreadGroup own;

    /** Leaves out what threads of {@code own} allocate; these must not end. */
    Allocated(ThreadGroup own) {
        this.own = own;
        bytes(); // What the first reading alone allocates, to link what it calls, it would see as another thread's.
    }

    /** The bytes, or -1 where this JVM cannot tell. */
    long bytes() {
        if (TOTAL == null) {
            return -1;
        }
        long[] others = others();
        long before = sum(others);
        while (true) {
            // What the caller allocates between these two is nothing.
            long mine = THREADS.getCurrentThreadAllocatedBytes();
            long all = total(THREADS);
            long after = sum(others);
            if (all < 0 || after == before) {
                return all < 0 ? -1 : all - mine - after;
            }
            // Another thread of the agent, still busy with the request that led here.
            before = after;
        }
    }

    /** The agent's threads but the calling one. */
    private long[] others() {
        Thread[] threads = new Thread[own.activeCount() + 8];
        int found = own.enumerate(threads);
        return Stream.of(threads)
                .limit(found)
                .filter(thread -> thread != Thread.currentThread())
                .mapToLong(Thread::getId)
                .toArray();
    }

    private static long sum(long[] ids) {
        long sum = 0;
        for (long bytes : THREADS.getThreadAllocatedBytes(ids)) {
            sum += Math.max(bytes, 0);
        }
        return sum;
    }

    private static long total(ThreadMXBean threads) {
        try {
            return (long) TOTAL.invokeExact(threads);
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
    }

    private static ThreadMXBean threads() {
        return ManagementFactory.getThreadMXBean() instanceof ThreadMXBean bean && bean.isThreadAllocatedMemorySupported()
                ? bean
                : null;
    }

    private static MethodHandle find() {
        if (THREADS == null) {
            return null;
        }
        try {
            THREADS.setThreadAllocatedMemoryEnabled(true);
            MethodType type = MethodType.methodType(long.class);
            return MethodHandles.publicLookup().findVirtual(ThreadMXBean.class, "getTotalThreadAllocatedBytes", type);
        } catch (ReflectiveOperationException missing) {
            return null;
        }
    }
}
