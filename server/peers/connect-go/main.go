// connect-go over net/http's HTTP/2 without TLS, as a server under test: see ../README.md.
package main

import (
	"context"
	"errors"
	"io"
	"net/http"

	"echo-peer"
	"echo-peer-connect-go/benchmark"
	"echo-peer-connect-go/benchmark/benchmarkconnect"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
)

func main() {
	peer.Main("connectrpc.com/connect", start)
}

func start(options peer.Options, echo *peer.Echo) (peer.Server, error) {
	if options.MaxConnectionAge > 0 {
		return peer.Server{}, errors.New("--max-connection-age: net/http's server has no limit of a connection's age")
	}
	mux := http.NewServeMux()
	limits := []connect.HandlerOption{connect.WithReadMaxBytes(peer.MessageLimit), connect.WithSendMaxBytes(peer.MessageLimit)}
	mux.Handle(benchmarkconnect.NewBenchmarkServiceHandler(&service{echo: echo}, limits...))
	mux.Handle(grpchealth.NewHandler(grpchealth.NewStaticChecker(benchmarkconnect.BenchmarkServiceName)))
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: mux, Protocols: protocols}
	if options.MaxConcurrentStreams > 0 {
		server.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: int(options.MaxConcurrentStreams)}
	}
	return peer.Server{
		Serve: func() error { return server.Serve(options.Listener) },
		Drain: func() { _ = server.Shutdown(context.Background()) },
	}, nil
}

type service struct{ echo *peer.Echo }

func (s *service) UnaryCall(
	ctx context.Context, request *connect.Request[benchmark.BenchmarkRequest],
) (*connect.Response[benchmark.BenchmarkResponse], error) {
	payload, err := s.echo.Unary.Answer(ctx, request.Msg.Payload)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&benchmark.BenchmarkResponse{Payload: payload}), nil
}

func (s *service) StreamCall(
	ctx context.Context, stream *connect.BidiStream[benchmark.BenchmarkRequest, benchmark.BenchmarkResponse],
) error {
	for {
		request, err := stream.Receive()
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
