package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"
	hessian "github.com/apache/dubbo-go-hessian2"
	"golang.org/x/net/http2"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const checkTime = time.Minute

// BenchmarkRequest is an object of a service without a schema.
type BenchmarkRequest struct {
	Payload []byte
}

// JavaClassName names it for Hessian.
func (*BenchmarkRequest) JavaClassName() string { return "benchmark.BenchmarkRequest" }

type checks struct{ count int }

func (c *checks) run(name string, check func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if panicked := recover(); panicked != nil {
				done <- fmt.Errorf("panic: %v", panicked)
			}
		}()
		done <- check(ctx)
	}()
	var err error
	select {
	case err = <-done:
	case <-time.After(checkTime + time.Second):
		err = errors.New("took too long")
	}
	detail := ""
	if err != nil {
		detail = err.Error()[:min(len(err.Error()), 600)]
	}
	c.count++
	print(map[string]any{"check": name, "ok": err == nil, "detail": detail})
}

func print(line map[string]any) {
	_ = json.NewEncoder(os.Stdout).Encode(line)
}

// Bytes that no off-by-one, truncation or mix-up of two calls leaves unchanged.
func payload(size int, seed uint64) []byte {
	random := rand.New(rand.NewPCG(uint64(size), seed))
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

func expectEcho(sent, got []byte) error {
	if !bytes.Equal(sent, got) {
		return fmt.Errorf("sent %d bytes, got %d, begins % x", len(sent), len(got), got[:min(len(got), 16)])
	}
	return nil
}

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
	return expectEcho(sent, reply.Value)
}

func stream(ctx context.Context, client *tri.Client, sizes []int) error {
	stream, err := client.CallBidiStream(ctx)
	if err != nil {
		return err
	}
	for i, size := range sizes {
		sent := payload(size, uint64(i))
		if err := stream.Send(wrapperspb.Bytes(sent)); err != nil {
			return err
		}
		reply := new(wrapperspb.BytesValue)
		if err := stream.Receive(reply); err != nil {
			return err
		}
		if err := expectEcho(sent, reply.Value); err != nil {
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

func expectCode(code tri.Code, err error) error {
	if err == nil {
		return errors.New("the call succeeded")
	}
	if got := tri.CodeOf(err); got != code {
		return fmt.Errorf("expected %v, got %w", code, err)
	}
	return nil
}

func (c *checks) protobuf(s server, label string, overHTTP1, tonic bool, options ...tri.ClientOption) {
	client := s.client(unaryCall, overHTTP1, options...)
	for _, size := range []int{0, 1, 128, 16 << 10, 1 << 20} {
		c.run(fmt.Sprintf("%s: unary %d B", label, size), func(ctx context.Context) error {
			return unary(ctx, client, payload(size, 0))
		})
	}
	unknown := s.client(strings.Replace(unaryCall, "UnaryCall", "NoSuchCall", 1), overHTTP1, options...)
	c.run(label+": unknown method", func(ctx context.Context) error {
		return expectCode(tri.CodeUnimplemented, unary(ctx, unknown, nil))
	})
	refusal := tri.CodeResourceExhausted
	if tonic {
		refusal = tri.CodeOutOfRange
	}
	c.run(label+": oversize", func(ctx context.Context) error {
		return expectCode(refusal, unary(ctx, client, payload(oversize, 0)))
	})
	c.run(label+": unary after the refusals", func(ctx context.Context) error {
		return unary(ctx, client, payload(128, 0))
	})
}

func (c *checks) envelopes(s server, label string, overHTTP1 bool, options ...tri.ClientOption) {
	client := s.client(unaryCall, overHTTP1, options...)
	for _, size := range []int{0, 1, 128, 4095, 4096, 8189, 8190, 64 << 10, 1 << 20} {
		c.run(fmt.Sprintf("%s: %d bytes", label, size), func(ctx context.Context) error {
			return envelope(ctx, client, payload(size, 0))
		})
	}
	// Around where dubbo-go (4,096) and dubbo-java (32,768) cut a string.
	for _, length := range []int{0, 3, 31, 1023, 4095, 32_767} {
		text := strings.Repeat("a", length) + "Grüße 中文 😀" + strings.Repeat("😀", length)
		c.run(fmt.Sprintf("%s: a string, from %d", label, length), func(ctx context.Context) error {
			return envelope(ctx, client, text)
		})
	}
}

func runClient(kind, addr string) error {
	hessian.RegisterPOJO(&BenchmarkRequest{})
	c, s := &checks{}, server{addr}
	tonic, takesGzip := strings.HasPrefix(kind, "grpc"), kind != "grpc"
	c.protobuf(s, "gRPC", false, tonic)
	c.run("gRPC: stream, in turn", func(ctx context.Context) error {
		return stream(ctx, s.client(streamCall, false), []int{0, 1, 128, 16 << 10, 1 << 20, 128})
	})
	if takesGzip {
		c.run("gRPC: request gzipped", func(ctx context.Context) error {
			return unary(ctx, s.client(unaryCall, false, tri.WithSendGzip()), payload(16<<10, 0))
		})
	}
	if !tonic {
		c.protobuf(s, "Triple over HTTP/2", false, tonic, tri.WithTriple())
		c.protobuf(s, "Triple over HTTP/1.1", true, tonic, tri.WithTriple())
		c.envelopes(s, "gRPC, hessian2 in an envelope", false, tri.WithHessian2())
		c.envelopes(s, "Triple over HTTP/1.1, hessian2 in an envelope", true, tri.WithTriple(), tri.WithHessian2())
		c.run("gRPC, hessian2 in an envelope: an object", func(ctx context.Context) error {
			return envelope(ctx, s.client(unaryCall, false, tri.WithHessian2()), &BenchmarkRequest{payload(8190, 0)})
		})
		c.envelopes(s, "gRPC, msgpack in an envelope", false, tri.WithMsgPack())
	}
	print(map[string]any{"done": c.count})
	return nil
}
