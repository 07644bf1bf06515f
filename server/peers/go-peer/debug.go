package peer

import (
	"expvar"
	"net"
	"net/http"
	_ "net/http/pprof" // its routes, on the default mux
	"os"
	"syscall"
)

// Serves pprof and expvar, which register themselves on the default mux, and publishes the counts that analyze reads beside
// expvar's memstats.
func serveDebug(addr string, echo *Echo) (net.Addr, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	expvar.Publish("ops", expvar.Func(func() any { return echo.counts() }))
	expvar.Publish("process", expvar.Func(func() any { return process{os.Getpid(), cpuTime()} }))
	http.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	go func() { _ = http.Serve(listener, nil) }()
	return listener.Addr(), nil
}

type counts struct {
	Started uint64 `json:"started"`
	Ok      uint64 `json:"ok"`
	Error   uint64 `json:"error"`
}

type process struct {
	Pid   int   `json:"pid"`
	CPUNs int64 `json:"cpu_ns"`
}

func (e *Echo) counts() map[string]counts {
	return map[string]counts{unaryMethod: e.Unary.counts(), streamMethod: e.Stream.counts()}
}

func (m *Method) counts() counts {
	return counts{Started: m.started.Load(), Ok: m.ok.Load(), Error: m.error.Load()}
}

// User and system time of this process so far, in ns; a kernel that can't tell says 0.
func cpuTime() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
