// kitex as a server under test, of gRPC and Kitex Protobuf or of Thrift: see ../README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"echo-peer"
	"echo-peer-kitex/kitex_gen/benchmark"
	"echo-peer-kitex/kitex_gen/benchmark/benchmarkservice"
	thriftservice "echo-peer-kitex/kitex_gen/thriftbenchmark/benchmarkservice"

	_ "github.com/cloudwego/kitex/pkg/remote/codec/protobuf/encoding/gzip" // takes compressed requests, and answers them so
	"github.com/cloudwego/kitex/pkg/remote/trans/nphttp2/grpc"
	"github.com/cloudwego/kitex/server"
)

const (
	// How long calls in flight have to end.
	drainLimit = 8 * time.Second
	protobuf   = "protobuf"
	thrift     = "thrift"
)

var (
	protocol = flag.String("protocol", protobuf, "`NAME` of protobuf, for gRPC and Kitex Protobuf, or thrift")
	mux      = flag.Bool("mux", false, "answer several calls of a connection at a time, all of them in TTHeader; no gRPC then")
)

func main() {
	peer.Main("github.com/cloudwego/kitex", start)
}

func start(options peer.Options, echo *peer.Echo) (peer.Server, error) {
	stop := make(chan error, 1)
	set := []server.Option{
		server.WithListener(options.Listener),
		server.WithExitSignal(func() <-chan error { return stop }),
		server.WithExitWaitTime(drainLimit),
	}
	if options.MaxConcurrentStreams > 0 {
		set = append(set, server.WithGRPCMaxConcurrentStreams(options.MaxConcurrentStreams))
	}
	if options.MaxConnectionAge > 0 {
		set = append(set, server.WithGRPCKeepaliveParams(grpc.ServerKeepalive{MaxConnectionAge: options.MaxConnectionAge}))
	}
	if *mux {
		set = append(set, server.WithMuxTransport())
	}
	var served server.Server
	switch *protocol {
	case protobuf:
		served = benchmarkservice.NewServer(&service{echo: echo}, set...)
	case thrift:
		served = thriftservice.NewServer(&thriftService{echo: echo}, set...)
	default:
		return peer.Server{}, fmt.Errorf("--protocol %q: allowed are %s and %s", *protocol, protobuf, thrift)
	}
	return peer.Server{Serve: served.Run, Drain: func() { _ = served.Stop() }}, nil
}

type service struct{ echo *peer.Echo }

func (s *service) UnaryCall(ctx context.Context, request *benchmark.BenchmarkRequest) (*benchmark.BenchmarkResponse, error) {
	payload, err := s.echo.Unary.Answer(ctx, request.Payload)
	if err != nil {
		return nil, err
	}
	return &benchmark.BenchmarkResponse{Payload: payload}, nil
}

func (s *service) StreamCall(stream benchmark.BenchmarkService_StreamCallServer) error {
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		payload, err := s.echo.Stream.Answer(stream.Context(), request.Payload)
		if err != nil {
			return err
		}
		if err := stream.Send(&benchmark.BenchmarkResponse{Payload: payload}); err != nil {
			return err
		}
	}
}
