// A whole dubbo-go server under test, with the filters and the logger that its users have: see ../README.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"strconv"
	"time"

	"echo-peer"

	"dubbo.apache.org/dubbo-go/v3"
	"dubbo.apache.org/dubbo-go/v3/graceful_shutdown"
	_ "dubbo.apache.org/dubbo-go/v3/imports" // every extension, as its users import them
	"dubbo.apache.org/dubbo-go/v3/protocol"
	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple"
	"dubbo.apache.org/dubbo-go/v3/server"
)

const (
	// From the export of its services until they can be reached.
	startLimit = 15 * time.Second
	// How long calls in flight have to end.
	drainLimit = 8 * time.Second
	protobuf   = "protobuf"
	hessian2   = "hessian2"
	triple     = "triple"
	dubboTCP   = "dubbo"
)

var protocolName = flag.String("protocol", triple, "`NAME` of triple, or dubbo: Dubbo's own protocol over TCP, which has hessian2 only")

var serialization = flag.String("serialization", protobuf,
	"`NAME` of protobuf, or hessian2: byte arrays in Triple's envelopes, as a service without a schema has them")

func main() {
	peer.Main("dubbo.apache.org/dubbo-go/v3", start)
}

func start(options peer.Options, echo *peer.Echo) (peer.Server, error) {
	if options.MaxConcurrentStreams > 0 || options.MaxConnectionAge > 0 {
		return peer.Server{}, errors.New("dubbo-go has no option for the number of streams or the age of a connection")
	}
	// The framework takes a port, no listener.
	addr := options.Listener.Addr().(*net.TCPAddr)
	if err := options.Listener.Close(); err != nil {
		return peer.Server{}, err
	}
	instance, err := dubbo.NewInstance(
		// Else it serves its metadata on every address of the machine.
		dubbo.WithRemoteMetadata(),
		// Its own signal handler drains and ends the process, at once: there is no registry that has to tell consumers first.
		dubbo.WithShutdown(
			graceful_shutdown.WithConsumerUpdateWaitTime(time.Millisecond),
			graceful_shutdown.WithOfflineRequestWindowTimeout(time.Millisecond),
			graceful_shutdown.WithStepTimeout(drainLimit),
		),
	)
	if err != nil {
		return peer.Server{}, err
	}
	limit := strconv.Itoa(peer.MessageLimit)
	var spoken protocol.Option
	switch *protocolName {
	case triple:
		spoken = protocol.WithTriple(tri.WithMaxServerRecvMsgSize(limit), tri.WithMaxServerSendMsgSize(limit))
	case dubboTCP:
		prepareDubbo()
		spoken = protocol.WithDubbo()
	default:
		return peer.Server{}, fmt.Errorf("--protocol %q: allowed are %s and %s", *protocolName, triple, dubboTCP)
	}
	served, err := instance.NewServer(
		server.WithServerProtocol(
			spoken,
			protocol.WithIp(addr.IP.String()),
			protocol.WithPort(addr.Port),
		),
	)
	if err != nil {
		return peer.Server{}, err
	}
	switch {
	case *protocolName == dubboTCP:
		err = served.RegisterService(&Objects{echo: echo}, server.WithInterface(javaPackage+"BenchmarkService"), server.WithSerialization(hessian2))
	case *serialization == protobuf:
		err = served.Register(&Service{echo: echo}, serviceInfo())
	case *serialization == hessian2:
		err = served.RegisterService(&Envelopes{echo: echo}, server.WithInterface(serviceName), server.WithSerialization(hessian2))
	default:
		err = fmt.Errorf("--serialization %q: allowed are %s and %s", *serialization, protobuf, hessian2)
	}
	if err != nil {
		return peer.Server{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- served.Serve() }()
	if err := awaitListening(addr.String(), ended); err != nil {
		return peer.Server{}, err
	}
	return peer.Server{Serve: func() error { return <-ended }, Drain: func() { select {} }}, nil
}

// The framework only logs that it can't listen, so it is asked until it answers.
func awaitListening(addr string, ended <-chan error) error {
	deadline := time.Now().Add(startLimit)
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case err := <-ended:
			return err
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("does not listen at %s: %w", addr, err)
		}
	}
}
