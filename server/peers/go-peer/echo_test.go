package peer

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestRepliesAreRepeatedAndCut(t *testing.T) {
	for _, c := range []struct {
		size           int
		request, reply string
	}{
		{-1, "abc", "abc"}, {8, "abc", "abcabcab"}, {3, "abc", "abc"}, {2, "abc", "ab"}, {0, "abc", ""}, {3, "", "\x00\x00\x00"},
	} {
		echo := newEcho()
		echo.responseSize = c.size
		reply, err := echo.Unary.Answer(context.Background(), []byte(c.request))
		if err != nil || string(reply) != c.reply {
			t.Errorf("%d bytes for %q: %q, %v", c.size, c.request, reply, err)
		}
	}
}

func TestOpsAreCountedByMethodAndOutcome(t *testing.T) {
	echo := newEcho()
	if _, err := echo.Stream.Answer(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	echo.sleep = time.Hour
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := echo.Unary.Answer(ended, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that ended was answered: %v", err)
	}
	counted := echo.counts()
	if got, want := counted[streamMethod], (counts{Started: 1, Ok: 1}); got != want {
		t.Errorf("stream: %v, not %v", got, want)
	}
	if got, want := counted[unaryMethod], (counts{Started: 1, Error: 1}); got != want {
		t.Errorf("unary: %v, not %v", got, want)
	}
}

func TestAPlainAnswerAllocatesNothing(t *testing.T) {
	echo, payload := newEcho(), make([]byte, 128)
	allocations := testing.AllocsPerRun(100, func() { _, _ = echo.Unary.Answer(context.Background(), payload) })
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
