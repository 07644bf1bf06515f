package main

import (
	"context"

	"echo-peer"
	"echo-peer-kitex/kitex_gen/thriftbenchmark"
)

// The service of benchmark.thrift: calls alone, since streams in Thrift are another protocol.
type thriftService struct{ echo *peer.Echo }

func (s *thriftService) UnaryCall(ctx context.Context, request *thriftbenchmark.BenchmarkRequest) (*thriftbenchmark.BenchmarkResponse, error) {
	payload, err := s.echo.Unary.Answer(ctx, request.Payload)
	if err != nil {
		return nil, err
	}
	return &thriftbenchmark.BenchmarkResponse{Payload: payload}, nil
}
