package analyze.peer;

import analyze.agent.Agent;
import benchmark.BenchmarkService;
import java.io.IOException;
import java.net.InetSocketAddress;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.ServiceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;
import org.apache.dubbo.config.nested.TripleConfig;

/** A Dubbo echo server. It prints one line of JSON when it takes calls, and drains on SIGTERM. */
public final class Server {
    private static final int MESSAGE_LIMIT = 16 << 20;
    /** What a message has beside its payload. */
    private static final int OVERHEAD = 64 << 10;

    private Server() {}

    public static void main(String[] args) {
        try {
            Options options = Options.parse(args);
            String debug = options.debugAddr() == null ? null : Agent.serve(options.debugAddr(), false);
            InetSocketAddress addr = Addresses.withPort(options.addr());
            serve(options, addr);
            System.out.println(ready(Agent.authority(addr), debug));
            DubboBootstrap.getInstance().await();
        } catch (IllegalArgumentException error) {
            System.err.print(error.getMessage() + "\n" + Options.USAGE);
            System.exit(2);
        } catch (IOException | RuntimeException error) {
            System.err.println(error);
            System.exit(1);
        }
    }

    private static void serve(Options options, InetSocketAddress addr) {
        ApplicationConfig application = new ApplicationConfig("echo");
        application.setQosEnable(false);
        Answers answers = new Answers(options);
        DubboBootstrap.getInstance()
                .application(application)
                .registry(new RegistryConfig(RegistryConfig.NO_AVAILABLE))
                .protocol(options.dubbo() ? dubbo(addr) : triple(addr))
                .service(options.dubbo() ? objects(answers) : schema(answers))
                .start();
    }

    private static ServiceConfig<BenchmarkService> schema(Answers answers) {
        ServiceConfig<BenchmarkService> service = new ServiceConfig<>();
        service.setInterface(BenchmarkService.class);
        service.setRef(new Echo(answers));
        return service;
    }

    private static ServiceConfig<org.apache.dubbo.benchmark.BenchmarkService> objects(Answers answers) {
        ServiceConfig<org.apache.dubbo.benchmark.BenchmarkService> service = new ServiceConfig<>();
        service.setInterface(org.apache.dubbo.benchmark.BenchmarkService.class);
        service.setRef(new ObjectEcho(answers));
        return service;
    }

    /** Settings are Dubbo's own, but for the limit of a message, which would be 8 MiB. */
    private static ProtocolConfig dubbo(InetSocketAddress addr) {
        ProtocolConfig protocol = new ProtocolConfig("dubbo", addr.getPort());
        protocol.setHost(Addresses.host(addr));
        protocol.setSerialization("hessian2");
        protocol.setPayload(MESSAGE_LIMIT + OVERHEAD);
        return protocol;
    }

    /** Settings are Dubbo's own, but for the limits of messages. */
    private static ProtocolConfig triple(InetSocketAddress addr) {
        TripleConfig triple = new TripleConfig();
        triple.setMaxBodySize(MESSAGE_LIMIT + OVERHEAD);
        triple.setMaxResponseBodySize(MESSAGE_LIMIT + OVERHEAD);
        ProtocolConfig protocol = new ProtocolConfig("tri", addr.getPort());
        protocol.setHost(Addresses.host(addr));
        protocol.setTriple(triple);
        return protocol;
    }

    private static String ready(String addr, String debug) {
        String url = debug == null ? "null" : "\"" + debug + "\"";
        long pid = ProcessHandle.current().pid();
        return "{\"ready\":true,\"addr\":\"%s\",\"debug_addr\":%s,\"pid\":%d,\"cpus\":[]}".formatted(addr, url, pid);
    }
}
