// Package peer is what the Go servers under test share: flags, the ready line, debug endpoints, counters, the handler and the
// drain. It has no dependencies, so that none of theirs is bound by another's.
package peer

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// MessageLimit is the largest message that a server takes, its few bytes of encoding included.
const MessageLimit = 16<<20 + 64

// What is in flight when the server is told to end has this long.
const drainLimit = 10 * time.Second

const usageError = 2

// Options are the flags that a framework has to heed itself.
type Options struct {
	Listener net.Listener
	// Answer with gzip whenever the client offers it; else as the framework does.
	AcceptGzip bool
	// SETTINGS_MAX_CONCURRENT_STREAMS, 0 for the framework's own.
	MaxConcurrentStreams uint32
	// After which a connection is closed with GOAWAY, 0 for never.
	MaxConnectionAge time.Duration
}

// Server is a framework's server, not serving yet.
type Server struct {
	// Serves until it is drained.
	Serve func() error
	// Stops accepting, and returns once every call in flight has ended.
	Drain func()
}

// Main is a server program: it serves what start makes until SIGTERM or SIGINT, and then drains it. Exit code 0 after a drain,
// 1 for what failed at run time, 2 for wrong flags. The framework is the path of its module, whose version the ready line tells.
func Main(framework string, start func(Options, *Echo) (Server, error)) {
	if err := run(framework, start); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(framework string, start func(Options, *Echo) (Server, error)) error {
	options, echo := Options{}, newEcho()
	addr := flag.String("addr", "127.0.0.1:0", "`IP:PORT` to serve on; port 0 takes a free one")
	debugAddr := flag.String("debug-addr", "127.0.0.1:0", "`IP:PORT` of the debug endpoints")
	flag.IntVar(&echo.responseSize, "response-size", -1, "`BYTES` of each reply's payload: the request's repeated or cut; -1 is as it is")
	flag.DurationVar(&echo.sleep, "sleep", 0, "`TIME` to sleep before each reply, such as 5ms")
	flag.BoolVar(&options.AcceptGzip, "accept-gzip", false, "answer with gzip whenever the client offers it")
	streams := flag.Uint("max-concurrent-streams", 0, "streams a connection may have at once; 0 is the framework's own limit")
	flag.DurationVar(&options.MaxConnectionAge, "max-connection-age", 0, "`TIME` after which a connection is closed with GOAWAY; 0 is never")
	flag.Parse()
	options.MaxConcurrentStreams = uint32(*streams)
	if flag.NArg() > 0 {
		fmt.Fprintf(flag.CommandLine.Output(), "unexpected argument %q: all are flags\n", flag.Arg(0))
		os.Exit(usageError)
	}

	stdout, err := takeStdout()
	if err != nil {
		return fmt.Errorf("cannot keep standard output for the ready line: %w", err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return fmt.Errorf("--addr %s: %w", *addr, err)
	}
	options.Listener = listener
	server, err := start(options, echo)
	if err != nil {
		return err
	}
	debug, err := serveDebug(*debugAddr, echo)
	if err != nil {
		return fmt.Errorf("--debug-addr %s: %w", *debugAddr, err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	if err := printReady(stdout, framework, listener.Addr(), debug); err != nil {
		return fmt.Errorf("cannot write the ready line: %w", err)
	}
	select {
	case err := <-served:
		return fmt.Errorf("ended by itself: %w", err)
	case <-stop:
	}
	drained := make(chan struct{})
	go func() {
		server.Drain()
		close(drained)
	}()
	select {
	case <-drained:
		return nil
	case <-time.After(drainLimit):
		return fmt.Errorf("calls were still in flight after %v", drainLimit)
	case <-stop:
		return errors.New("told twice to end")
	}
}
