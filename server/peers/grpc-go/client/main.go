// grpc-go, as its users call it, against one of our servers:
// `client triple|triple-gzip|triple-slow|grpc|grpc-gzip|grpc-slow HOST:PORT`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"echo-peer-grpc-go/benchmark"
	"echo-peer/check"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const service = "/benchmark.BenchmarkService/"

type client struct {
	check.Checks
	conn *grpc.ClientConn
	stub benchmark.BenchmarkServiceClient
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: client triple|triple-gzip|triple-slow|grpc|grpc-gzip|grpc-slow HOST:PORT")
		os.Exit(2)
	}
	kind, addr := os.Args[1], os.Args[2]
	conn, err := grpc.NewClient(addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(2*check.Oversize)),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer conn.Close()
	c := &client{conn: conn, stub: benchmark.NewBenchmarkServiceClient(conn)}
	if strings.HasSuffix(kind, "-slow") {
		c.timeouts()
	} else {
		c.all(kind)
	}
	c.Close()
}

func (c *client) all(kind string) {
	// tonic as it comes: OUT_OF_RANGE for oversize, no gzip unless it is switched on, no health.
	tonic, takesGzip := strings.HasPrefix(kind, "grpc"), kind != "grpc"
	c.echoes()
	c.refusals(tonic)
	c.deadlines()
	c.compressed(takesGzip)
	if !tonic {
		c.health()
	}
	c.Run("unary on the same connection after the refusals", func(ctx context.Context) error { return c.unary(ctx, 16<<10) })
}

// The server takes 300 ms for a reply.
func (c *client) timeouts() {
	within := func(limit time.Duration) func(context.Context) error {
		return func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			return c.unary(ctx, 128)
		}
	}
	c.Run("a call that may take longer", within(10*time.Second))
	c.Run("a call that may not", func(ctx context.Context) error {
		// CANCELLED is what tonic answers, where that comes before the client has noticed by itself.
		return check.ExpectCode(codes.DeadlineExceeded, status.Code, within(50*time.Millisecond)(ctx), codes.Canceled)
	})
	c.Run("a call after the timeout", within(10*time.Second))
}

func (c *client) unary(ctx context.Context, size int, options ...grpc.CallOption) error {
	sent := check.Payload(size, 0)
	reply, err := c.stub.UnaryCall(ctx, &benchmark.BenchmarkRequest{Payload: sent}, options...)
	if err != nil {
		return err
	}
	return check.ExpectEcho(sent, reply.Payload)
}

// A stream whose messages are written `ahead` of their echoes, at most.
func (c *client) streamed(ctx context.Context, sizes []int, ahead int, options ...grpc.CallOption) error {
	group, ctx := errgroup.WithContext(ctx)
	stream, err := c.stub.StreamCall(ctx, options...)
	if err != nil {
		return err
	}
	turns := make(chan struct{}, ahead)
	group.Go(func() error {
		for i, size := range sizes {
			select {
			case turns <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			// The reason is what the other half receives.
			if err := stream.Send(&benchmark.BenchmarkRequest{Payload: check.Payload(size, uint64(i))}); err != nil {
				return nil
			}
		}
		return stream.CloseSend()
	})
	group.Go(func() error {
		for i, size := range sizes {
			reply, err := stream.Recv()
			if err != nil {
				return err
			}
			if err := check.ExpectEcho(check.Payload(size, uint64(i)), reply.Payload); err != nil {
				return err
			}
			<-turns
		}
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			return fmt.Errorf("after the last echo: %v", err)
		}
		return nil
	})
	return group.Wait()
}

func (c *client) echoes() {
	for _, size := range check.Sizes {
		c.Run(fmt.Sprintf("unary %d B", size), func(ctx context.Context) error { return c.unary(ctx, size) })
	}
	c.Run("300 unary calls at once", func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		for i := range 300 {
			group.Go(func() error { return c.unary(ctx, 1+37*i) })
		}
		return group.Wait()
	})
	for name, ahead := range map[string]int{"in turn": 1, "all written first": 100} {
		c.Run("stream, "+name, func(ctx context.Context) error {
			return c.streamed(ctx, append(check.Sizes, check.Sizes...), ahead)
		})
	}
	c.Run("metadata, of bytes too", func(ctx context.Context) error {
		ctx = metadata.AppendToOutgoingContext(ctx, "key", "value", "key", "other", "key-bin", "\x00\xff")
		return c.unary(ctx, 128)
	})
}

func (c *client) refusals(tonic bool) {
	expect := func(name string, code codes.Code, call func(context.Context) error) {
		c.Run(name, func(ctx context.Context) error { return check.ExpectCode(code, status.Code, call(ctx)) })
	}
	for name, path := range map[string]string{"method": service + "NoSuchCall", "service": "/no.Such/UnaryCall"} {
		expect("unknown "+name, codes.Unimplemented, func(ctx context.Context) error {
			return c.conn.Invoke(ctx, path, &benchmark.BenchmarkRequest{}, &benchmark.BenchmarkResponse{})
		})
	}
	code := codes.ResourceExhausted
	if tonic {
		code = codes.OutOfRange
	}
	expect("oversize", code, func(ctx context.Context) error { return c.unary(ctx, check.Oversize) })
	expect("oversize in a stream", code, func(ctx context.Context) error {
		return c.streamed(ctx, []int{check.Oversize}, 1)
	})
}

func (c *client) deadlines() {
	c.Run("a deadline ends a stream that stays open behind an echo", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		stream, err := c.stub.StreamCall(ctx)
		if err != nil {
			return err
		}
		sent := check.Payload(128, 0)
		if err := stream.Send(&benchmark.BenchmarkRequest{Payload: sent}); err != nil {
			return err
		}
		reply, err := stream.Recv()
		if err != nil {
			return err
		}
		if err := check.ExpectEcho(sent, reply.Payload); err != nil {
			return err
		}
		_, err = stream.Recv()
		return check.ExpectCode(codes.DeadlineExceeded, status.Code, err)
	})
	c.Run("unary after the deadline", func(ctx context.Context) error { return c.unary(ctx, 128) })
}

func (c *client) compressed(takesGzip bool) {
	zipped := grpc.UseCompressor(gzip.Name)
	if !takesGzip {
		c.Run("request gzipped is refused", func(ctx context.Context) error {
			return check.ExpectCode(codes.Unimplemented, status.Code, c.unary(ctx, 128, zipped))
		})
		return
	}
	for _, size := range check.Sizes {
		c.Run(fmt.Sprintf("unary %d B, request gzipped", size), func(ctx context.Context) error { return c.unary(ctx, size, zipped) })
	}
	c.Run("stream gzipped", func(ctx context.Context) error { return c.streamed(ctx, check.Sizes, 1, zipped) })
	c.Run("oversize only once decompressed", func(ctx context.Context) error {
		zeros := &benchmark.BenchmarkRequest{Payload: make([]byte, check.Oversize)}
		_, err := c.stub.UnaryCall(ctx, zeros, zipped)
		return check.ExpectCode(codes.ResourceExhausted, status.Code, err)
	})
}

func (c *client) health() {
	c.Run("health Check and Watch", func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stub, request := grpc_health_v1.NewHealthClient(c.conn), &grpc_health_v1.HealthCheckRequest{}
		checked, err := stub.Check(ctx, request)
		if err != nil {
			return err
		}
		watch, err := stub.Watch(ctx, request)
		if err != nil {
			return err
		}
		watched, err := watch.Recv()
		if err != nil {
			return err
		}
		serving := grpc_health_v1.HealthCheckResponse_SERVING
		if checked.Status != serving || watched.Status != serving {
			return fmt.Errorf("Check said %v, Watch %v", checked.Status, watched.Status)
		}
		return nil
	})
}
