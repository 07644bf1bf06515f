package peer

import (
	"context"
	"sync/atomic"
	"time"
)

// Names of the methods that are counted.
const (
	unaryMethod  = "benchmark.BenchmarkService/UnaryCall"
	streamMethod = "benchmark.BenchmarkService/StreamCall"
)

// Echo is what a handler does with a payload before it answers, and the count of it: an op is a message answered.
type Echo struct {
	Unary, Stream Method
	responseSize  int
	sleep         time.Duration
}

// Method is a method's counted ops.
type Method struct {
	echo               *Echo
	started, ok, error atomic.Uint64
}

func newEcho() *Echo {
	echo := &Echo{}
	echo.Unary.echo, echo.Stream.echo = echo, echo
	return echo
}

// Answer is the payload of the reply to a request's. By default it is the same memory, at once.
//
// It fails when the call ends while the handler sleeps.
func (m *Method) Answer(ctx context.Context, payload []byte) ([]byte, error) {
	m.started.Add(1)
	if m.echo.sleep > 0 {
		timer := time.NewTimer(m.echo.sleep)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			m.error.Add(1)
			return nil, ctx.Err()
		}
	}
	if size := m.echo.responseSize; size >= 0 && size != len(payload) {
		payload = repeated(payload, size)
	}
	m.ok.Add(1)
	return payload, nil
}

// The pattern over and over, or cut, so that there are size bytes; zeros if it is empty.
func repeated(pattern []byte, size int) []byte {
	if size <= len(pattern) {
		return pattern[:size]
	}
	out := make([]byte, size)
	if len(pattern) == 0 {
		return out
	}
	for filled := 0; filled < size; {
		filled += copy(out[filled:], pattern)
	}
	return out
}
