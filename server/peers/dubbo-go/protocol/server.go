package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"

	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// A change that an echo makes to a payload: none, or one that a check of its length alone misses.
type change func([]byte) []byte

func unchanged(payload []byte) []byte { return payload }

func spoiled(payload []byte) []byte {
	if len(payload) == 0 {
		return []byte("!")
	}
	other := bytes.Clone(payload)
	other[len(other)-1] ^= 1
	return other
}

func runServer(flags []string) error {
	wrong, hessian2 := slices.Contains(flags, "--wrong"), slices.Contains(flags, "--hessian2")
	echo, most := unchanged, tri.WithReadMaxBytes(limit)
	if wrong {
		echo, most = spoiled, tri.WithReadMaxBytes(0)
	}
	call, stream := unaryHandler(echo, most), streamHandler(echo, most)
	if hessian2 {
		call = envelopeHandler(echo, most)
	}
	mux := http.NewServeMux()
	mux.Handle(unaryCall, call)
	mux.Handle(streamCall, stream)
	if wrong {
		mux.Handle("/", call)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("{\"addr\": %q}\n", listener.Addr())
	return http.Serve(listener, h2c.NewHandler(mux, &http2.Server{}))
}

// BytesValue is on the wire what BenchmarkRequest and BenchmarkResponse are: bytes, field 1.
func unaryHandler(echo change, most tri.Option) http.Handler {
	call := func(_ context.Context, request *tri.Request) (*tri.Response, error) {
		payload := request.Msg.(*wrapperspb.BytesValue).Value
		return tri.NewResponse(wrapperspb.Bytes(echo(payload))), nil
	}
	request := func() any { return new(wrapperspb.BytesValue) }
	return tri.NewUnaryHandler(unaryCall, request, call, most)
}

func streamHandler(echo change, most tri.Option) http.Handler {
	call := func(_ context.Context, stream *tri.BidiStream) error {
		for {
			request := new(wrapperspb.BytesValue)
			if err := stream.Receive(request); err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
			if err := stream.Send(wrapperspb.Bytes(echo(request.Value))); err != nil {
				return err
			}
		}
	}
	return tri.NewBidiStreamHandler(streamCall, call, most)
}

func envelopeHandler(echo change, most tri.Option) http.Handler {
	call := func(_ context.Context, request *tri.Request) (*tri.Response, error) {
		payload := *request.Msg.([]any)[0].(*[]byte)
		return tri.NewResponse(echo(payload)), nil
	}
	request := func() any { return []any{new([]byte)} }
	return tri.NewUnaryHandler(unaryCall, request, call, most, tri.WithExpectedCodecName("hessian2"))
}
