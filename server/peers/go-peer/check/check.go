// Package check is what the Go clients share: each check is a line of JSON, as pychecks.py has it.
package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"
)

const (
	limit        = time.Minute
	longestError = 600
)

// Sizes of payloads, and one that every server refuses.
var Sizes = []int{0, 1, 128, 16 << 10, 1 << 20}

// Oversize is beyond every server's limit.
const Oversize = 17 << 20

// Checks counts what has been run.
type Checks struct{ count int }

// Run runs a check, for at most a minute, and prints how it ended.
func (c *Checks) Run(name string, check func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
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
	case <-time.After(limit + time.Second):
		err = errors.New("took too long")
	}
	detail := ""
	if err != nil {
		detail = err.Error()[:min(len(err.Error()), longestError)]
	}
	c.count++
	report(map[string]any{"check": name, "ok": err == nil, "detail": detail})
}

// Close says that all checks were run.
func (c *Checks) Close() {
	report(map[string]any{"done": c.count})
}

func report(line map[string]any) {
	_ = json.NewEncoder(os.Stdout).Encode(line)
}

// Payload is bytes that no off-by-one, truncation or mix-up of two calls leaves unchanged.
func Payload(size int, seed uint64) []byte {
	random := rand.New(rand.NewPCG(uint64(size), seed))
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

// ExpectEcho says how what came back differs from what was sent.
func ExpectEcho(sent, got []byte) error {
	if !bytes.Equal(sent, got) {
		return fmt.Errorf("sent %d bytes, got %d, begins % x", len(sent), len(got), got[:min(len(got), 16)])
	}
	return nil
}

// ExpectCode fails unless a call failed with this code, or with one of the others.
func ExpectCode[Code comparable](want Code, of func(error) Code, err error, orElse ...Code) error {
	if err == nil {
		return errors.New("the call succeeded")
	}
	if got := of(err); got != want && !slices.Contains(orElse, got) {
		return fmt.Errorf("expected %v, got %w", want, err)
	}
	return nil
}
