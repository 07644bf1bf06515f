package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"

	"echo-peer/check"

	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"
	hessian "github.com/apache/dubbo-go-hessian2"
	"golang.org/x/net/http2"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// BenchmarkRequest is an object of a service without a schema.
type BenchmarkRequest struct {
	Payload []byte
}

// JavaClassName names it for Hessian.
func (*BenchmarkRequest) JavaClassName() string { return "benchmark.BenchmarkRequest" }

type server struct{ addr string }

// Connects by HTTP/2 without TLS, as dubbo-go does, or by HTTP/1.1.
func (s server) client(method string, overHTTP1 bool, options ...tri.ClientOption) *tri.Client {
	var transport http.RoundTripper = &http2.Transport{
		AllowHTTP: true,
		DialTLSContext: func(ctx context.Context, network, addr string, _ *tls.Config) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	}
	if overHTTP1 {
		transport = &http.Transport{}
	}
	return tri.NewClient(&http.Client{Transport: transport}, "http://"+s.addr+method, options...)
}

func unary(ctx context.Context, client *tri.Client, sent []byte) error {
	reply := new(wrapperspb.BytesValue)
	if err := client.CallUnary(ctx, tri.NewRequest(wrapperspb.Bytes(sent)), tri.NewResponse(reply)); err != nil {
		return err
	}
	return check.ExpectEcho(sent, reply.Value)
}

func stream(ctx context.Context, client *tri.Client, sizes []int) error {
	stream, err := client.CallBidiStream(ctx)
	if err != nil {
		return err
	}
	for i, size := range sizes {
		sent := check.Payload(size, uint64(i))
		if err := stream.Send(wrapperspb.Bytes(sent)); err != nil {
			return err
		}
		reply := new(wrapperspb.BytesValue)
		if err := stream.Receive(reply); err != nil {
			return err
		}
		if err := check.ExpectEcho(sent, reply.Value); err != nil {
			return err
		}
	}
	if err := stream.CloseRequest(); err != nil {
		return err
	}
	if err := stream.Receive(new(wrapperspb.BytesValue)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("after the last echo: %v", err)
	}
	return stream.CloseResponse()
}

func envelope(ctx context.Context, client *tri.Client, sent any) error {
	reply := reflect.New(reflect.TypeOf(sent))
	if err := client.CallUnary(ctx, tri.NewRequest([]any{sent}), tri.NewResponse(reply.Interface())); err != nil {
		return err
	}
	if got := reply.Elem().Interface(); !reflect.DeepEqual(got, sent) {
		return fmt.Errorf("sent %.60v…, got %.60v…", sent, got)
	}
	return nil
}

type checks struct{ check.Checks }

func (c *checks) protobuf(s server, label string, overHTTP1, tonic bool, options ...tri.ClientOption) {
	client := s.client(unaryCall, overHTTP1, options...)
	for _, size := range check.Sizes {
		c.Run(fmt.Sprintf("%s: unary %d B", label, size), func(ctx context.Context) error {
			return unary(ctx, client, check.Payload(size, 0))
		})
	}
	unknown := s.client(strings.Replace(unaryCall, "UnaryCall", "NoSuchCall", 1), overHTTP1, options...)
	c.Run(label+": unknown method", func(ctx context.Context) error {
		return check.ExpectCode(tri.CodeUnimplemented, tri.CodeOf, unary(ctx, unknown, nil))
	})
	refusal := tri.CodeResourceExhausted
	if tonic {
		refusal = tri.CodeOutOfRange
	}
	c.Run(label+": oversize", func(ctx context.Context) error {
		return check.ExpectCode(refusal, tri.CodeOf, unary(ctx, client, check.Payload(check.Oversize, 0)))
	})
	c.Run(label+": unary after the refusals", func(ctx context.Context) error {
		return unary(ctx, client, check.Payload(128, 0))
	})
}

func (c *checks) envelopes(s server, label string, overHTTP1 bool, options ...tri.ClientOption) {
	client := s.client(unaryCall, overHTTP1, options...)
	for _, size := range []int{0, 1, 128, 4095, 4096, 8189, 8190, 64 << 10, 1 << 20} {
		c.Run(fmt.Sprintf("%s: %d bytes", label, size), func(ctx context.Context) error {
			return envelope(ctx, client, check.Payload(size, 0))
		})
	}
	// Around where dubbo-go (4,096) and dubbo-java (32,768) cut a string.
	for _, length := range []int{0, 3, 31, 1023, 4095, 32_767} {
		text := strings.Repeat("a", length) + "Grüße 中文 😀" + strings.Repeat("😀", length)
		c.Run(fmt.Sprintf("%s: a string, from %d", label, length), func(ctx context.Context) error {
			return envelope(ctx, client, text)
		})
	}
}

func runClient(kind, addr string) error {
	hessian.RegisterPOJO(&BenchmarkRequest{})
	c, s := &checks{}, server{addr}
	tonic, takesGzip := strings.HasPrefix(kind, "grpc"), kind != "grpc"
	c.protobuf(s, "gRPC", false, tonic)
	c.Run("gRPC: stream, in turn", func(ctx context.Context) error {
		return stream(ctx, s.client(streamCall, false), []int{0, 1, 128, 16 << 10, 1 << 20, 128})
	})
	if takesGzip {
		c.Run("gRPC: request gzipped", func(ctx context.Context) error {
			return unary(ctx, s.client(unaryCall, false, tri.WithSendGzip()), check.Payload(16<<10, 0))
		})
	}
	if !tonic {
		c.protobuf(s, "Triple over HTTP/2", false, tonic, tri.WithTriple())
		c.protobuf(s, "Triple over HTTP/1.1", true, tonic, tri.WithTriple())
		c.envelopes(s, "gRPC, hessian2 in an envelope", false, tri.WithHessian2())
		c.envelopes(s, "Triple over HTTP/1.1, hessian2 in an envelope", true, tri.WithTriple(), tri.WithHessian2())
		c.Run("gRPC, hessian2 in an envelope: an object", func(ctx context.Context) error {
			return envelope(ctx, s.client(unaryCall, false, tri.WithHessian2()), &BenchmarkRequest{check.Payload(8190, 0)})
		})
		c.envelopes(s, "gRPC, msgpack in an envelope", false, tri.WithMsgPack())
	}
	c.Close()
	return nil
}
