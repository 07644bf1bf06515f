// kitex as a gRPC server under test: see ../README.md.
package main

import (
	"context"
	"errors"
	"io"
	"time"

	"echo-peer"
	"echo-peer-kitex/kitex_gen/benchmark"
	"echo-peer-kitex/kitex_gen/benchmark/benchmarkservice"

	_ "github.com/cloudwego/kitex/pkg/remote/codec/protobuf/encoding/gzip" // takes compressed requests, and answers them so
	"github.com/cloudwego/kitex/pkg/remote/trans/nphttp2/grpc"
	"github.com/cloudwego/kitex/server"
)

// How long calls in flight have to end.
const drainLimit = 8 * time.Second

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
	served := benchmarkservice.NewServer(&service{echo: echo}, set...)
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
