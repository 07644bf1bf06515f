// grpc-go as a server under test, set as its users set it: see ../README.md.
package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"echo-peer"
	"echo-peer-grpc-go/benchmark"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip" // takes compressed requests, and answers them so
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
)

func main() {
	peer.Main("google.golang.org/grpc", start)
}

func start(options peer.Options, echo *peer.Echo) (peer.Server, error) {
	set := []grpc.ServerOption{grpc.MaxRecvMsgSize(peer.MessageLimit), grpc.MaxSendMsgSize(peer.MessageLimit)}
	if options.MaxConcurrentStreams > 0 {
		set = append(set, grpc.MaxConcurrentStreams(options.MaxConcurrentStreams))
	}
	if options.MaxConnectionAge > 0 {
		set = append(set, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: options.MaxConnectionAge}))
	}
	server := grpc.NewServer(set...)
	benchmark.RegisterBenchmarkServiceServer(server, &service{echo: echo, acceptGzip: options.AcceptGzip})
	healthy := health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, healthy)
	return peer.Server{
		Serve: func() error { return server.Serve(options.Listener) },
		Drain: func() {
			healthy.Shutdown()
			server.GracefulStop()
		},
	}, nil
}

type service struct {
	benchmark.UnimplementedBenchmarkServiceServer
	echo       *peer.Echo
	acceptGzip bool
}

func (s *service) UnaryCall(ctx context.Context, request *benchmark.BenchmarkRequest) (*benchmark.BenchmarkResponse, error) {
	if err := s.compress(ctx); err != nil {
		return nil, err
	}
	payload, err := s.echo.Unary.Answer(ctx, request.Payload)
	if err != nil {
		return nil, err
	}
	return &benchmark.BenchmarkResponse{Payload: payload}, nil
}

func (s *service) StreamCall(stream grpc.BidiStreamingServer[benchmark.BenchmarkRequest, benchmark.BenchmarkResponse]) error {
	ctx := stream.Context()
	if err := s.compress(ctx); err != nil {
		return err
	}
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		payload, err := s.echo.Stream.Answer(ctx, request.Payload)
		if err != nil {
			return err
		}
		if err := stream.Send(&benchmark.BenchmarkResponse{Payload: payload}); err != nil {
			return err
		}
	}
}

// Has the reply compressed for a client that takes it, where that was asked for.
func (s *service) compress(ctx context.Context) error {
	if !s.acceptGzip {
		return nil
	}
	offered, err := grpc.ClientSupportedCompressors(ctx)
	if err != nil || !slices.Contains(offered, gzip.Name) {
		return err
	}
	return grpc.SetSendCompressor(ctx, gzip.Name)
}
