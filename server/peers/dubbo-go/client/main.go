// A whole dubbo-go client, as its users call it, against one of our servers:
// `client triple|triple-gzip|triple-slow|grpc|grpc-gzip|grpc-slow HOST:PORT`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"echo-peer-dubbo-go/benchmark"
	"echo-peer/check"

	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/common/constant"
	_ "dubbo.apache.org/dubbo-go/v3/imports" // every extension, as its users import them
	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"
	"golang.org/x/sync/errgroup"
)

type peer struct {
	check.Checks
	addr string
	conn *client.Connection
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: client triple|triple-gzip|triple-slow|grpc|grpc-gzip|grpc-slow HOST:PORT")
		os.Exit(2)
	}
	kind, addr := os.Args[1], os.Args[2]
	p := &peer{addr: addr}
	var err error
	if p.conn, err = p.dial(constant.ProtobufSerialization); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	tonic := strings.HasPrefix(kind, "grpc")
	if strings.HasSuffix(kind, "-slow") {
		p.timeouts()
	} else {
		p.echoes()
		p.refusals(tonic)
		if !tonic {
			p.envelopes()
		}
	}
	p.Close()
}

// A reference to the service, by its address; a method that is called must be known. Without retries: an error that
// is tried again is the same. It takes replies that are as large as what servers refuse.
func (p *peer) dial(serialization string, options ...client.ClientOption) (*client.Connection, error) {
	options = append(options,
		client.WithClientURL("tri://"+p.addr),
		client.WithClientRetries(0),
		client.WithClientParam(constant.MaxCallRecvMsgSize, strconv.Itoa(2*check.Oversize)),
	)
	made, err := client.NewClient(options...)
	if err != nil {
		return nil, err
	}
	info := &client.ClientInfo{
		InterfaceName: "benchmark.BenchmarkService",
		MethodNames:   []string{"UnaryCall", "StreamCall", "NoSuchCall"},
	}
	return made.DialWithInfo(info.InterfaceName, info, client.WithSerialization(serialization))
}

func (p *peer) unary(ctx context.Context, method string, size int) error {
	sent, reply := check.Payload(size, 0), new(benchmark.BenchmarkResponse)
	request := &benchmark.BenchmarkRequest{Payload: sent}
	if err := p.conn.CallUnary(ctx, []any{request}, reply, method); err != nil {
		return err
	}
	return check.ExpectEcho(sent, reply.Payload)
}

func (p *peer) stream(ctx context.Context, sizes []int) error {
	opened, err := p.conn.CallBidiStream(ctx, "StreamCall")
	if err != nil {
		return err
	}
	stream := opened.(*tri.BidiStreamForClient)
	for i, size := range sizes {
		sent, reply := check.Payload(size, uint64(i)), new(benchmark.BenchmarkResponse)
		if err := stream.Send(&benchmark.BenchmarkRequest{Payload: sent}); err != nil {
			return err
		}
		if err := stream.Receive(reply); err != nil {
			return err
		}
		if err := check.ExpectEcho(sent, reply.Payload); err != nil {
			return err
		}
	}
	if err := stream.CloseRequest(); err != nil {
		return err
	}
	if err := stream.Receive(new(benchmark.BenchmarkResponse)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("after the last echo: %v", err)
	}
	return stream.CloseResponse()
}

func (p *peer) echoes() {
	for _, size := range check.Sizes {
		p.Run(fmt.Sprintf("unary %d B", size), func(ctx context.Context) error { return p.unary(ctx, "UnaryCall", size) })
	}
	p.Run("300 unary calls at once", func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		for i := range 300 {
			group.Go(func() error { return p.unary(ctx, "UnaryCall", 1+37*i) })
		}
		return group.Wait()
	})
	p.Run("stream, in turn", func(ctx context.Context) error { return p.stream(ctx, check.Sizes) })
	p.Run("attachments", func(ctx context.Context) error {
		attached := map[string]any{"key": "value", "keys": []string{"one", "two"}}
		return p.unary(context.WithValue(ctx, constant.AttachmentKey, attached), "UnaryCall", 128)
	})
}

func (p *peer) refusals(tonic bool) {
	expect := func(name string, code tri.Code, call func(context.Context) error) {
		p.Run(name, func(ctx context.Context) error { return check.ExpectCode(code, tri.CodeOf, call(ctx)) })
	}
	expect("unknown method", tri.CodeUnimplemented, func(ctx context.Context) error { return p.unary(ctx, "NoSuchCall", 0) })
	code := tri.CodeResourceExhausted
	if tonic {
		code = tri.CodeOutOfRange
	}
	expect("oversize", code, func(ctx context.Context) error { return p.unary(ctx, "UnaryCall", check.Oversize) })
	p.Run("unary after the refusals", func(ctx context.Context) error { return p.unary(ctx, "UnaryCall", 128) })
}

// The server takes 300 ms for a reply. The limit is the client's: the framework has one for a reference and one for a call too,
// but sends the client's. A context with a deadline would count in place of all.
func (p *peer) timeouts() {
	within := func(limit time.Duration) func(context.Context) error {
		return func(context.Context) error {
			conn, err := p.dial(constant.ProtobufSerialization, client.WithClientRequestTimeout(limit))
			if err != nil {
				return err
			}
			return (&peer{conn: conn}).unary(context.Background(), "UnaryCall", 128)
		}
	}
	p.Run("a call that may take longer", within(10*time.Second))
	p.Run("a call that may not", func(ctx context.Context) error {
		// CANCELLED is what tonic answers, where that comes before the client has noticed by itself.
		return check.ExpectCode(tri.CodeDeadlineExceeded, tri.CodeOf, within(50*time.Millisecond)(ctx), tri.CodeCanceled)
	})
	p.Run("a call after the timeout", within(10*time.Second))
}

// Calls of a service without a schema.
func (p *peer) envelopes() {
	conn, err := p.dial(constant.Hessian2Serialization)
	for _, size := range append(check.Sizes, 4095, 4096, 8190) {
		p.Run(fmt.Sprintf("hessian2 in an envelope: %d bytes", size), func(ctx context.Context) error {
			if err != nil {
				return err
			}
			sent := check.Payload(size, 0)
			var reply []byte
			if err := conn.CallUnary(ctx, []any{sent}, &reply, "UnaryCall"); err != nil {
				return err
			}
			return check.ExpectEcho(sent, reply)
		})
	}
}
