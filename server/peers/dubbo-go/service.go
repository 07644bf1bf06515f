package main

import (
	"context"
	"errors"
	"io"

	"echo-peer"
	"echo-peer-dubbo-go/benchmark"

	"dubbo.apache.org/dubbo-go/v3/common"
	"dubbo.apache.org/dubbo-go/v3/common/constant"
	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"
)

const serviceName = "benchmark.BenchmarkService"

// Service is the echo by its schema.
type Service struct{ echo *peer.Echo }

// UnaryCall echoes a message.
func (s *Service) UnaryCall(ctx context.Context, request *benchmark.BenchmarkRequest) (*benchmark.BenchmarkResponse, error) {
	payload, err := s.echo.Unary.Answer(ctx, request.Payload)
	if err != nil {
		return nil, err
	}
	return &benchmark.BenchmarkResponse{Payload: payload}, nil
}

// StreamCall echoes each message.
func (s *Service) StreamCall(ctx context.Context, stream *tri.BidiStream) error {
	for {
		request := new(benchmark.BenchmarkRequest)
		if err := stream.Receive(request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
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

// What protoc-gen-go-triple would make of the service: which request a method takes, and how it is called.
func serviceInfo() *common.ServiceInfo {
	return &common.ServiceInfo{
		InterfaceName: serviceName,
		ServiceType:   (*any)(nil),
		Methods: []common.MethodInfo{
			{
				Name:        "UnaryCall",
				Type:        constant.CallUnary,
				ReqInitFunc: func() any { return new(benchmark.BenchmarkRequest) },
				MethodFunc: func(ctx context.Context, args []any, handler any) (any, error) {
					response, err := handler.(*Service).UnaryCall(ctx, args[0].(*benchmark.BenchmarkRequest))
					if err != nil {
						return nil, err
					}
					return tri.NewResponse(response), nil
				},
			},
			{
				Name:           "StreamCall",
				Type:           constant.CallBidiStream,
				StreamInitFunc: func(stream any) any { return stream },
				MethodFunc: func(ctx context.Context, args []any, handler any) (any, error) {
					return nil, handler.(*Service).StreamCall(ctx, args[0].(*tri.BidiStream))
				},
			},
		},
	}
}

// Envelopes is the service without a schema: the framework finds its methods by reflection.
type Envelopes struct{ echo *peer.Echo }

// UnaryCall echoes a byte array.
func (e *Envelopes) UnaryCall(ctx context.Context, payload []byte) ([]byte, error) {
	return e.echo.Unary.Answer(ctx, payload)
}
