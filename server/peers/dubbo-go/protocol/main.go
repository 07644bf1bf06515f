// dubbo-go's Triple, as dubbo-go itself calls it:
//
//	peer client triple|triple-gzip|grpc|grpc-gzip HOST:PORT
//	peer server [--hessian2] [--wrong]
//
// The client prints a JSON line a check, as pychecks.py has it. The server prints one JSON ready line and serves until its
// process is ended; it gzips every reply to a client that takes it. --hessian2 serves the echo as a service without a schema:
// byte arrays in Triple's envelopes. --wrong makes an echo that every check of a client must notice.
package main

import (
	"fmt"
	"os"
)

const (
	unaryCall  = "/benchmark.BenchmarkService/UnaryCall"
	streamCall = "/benchmark.BenchmarkService/StreamCall"
	limit      = 16 << 20
)

func main() {
	args := os.Args[1:]
	var err error
	switch {
	case len(args) == 3 && args[0] == "client":
		err = runClient(args[1], args[2])
	case len(args) > 0 && args[0] == "server":
		err = runServer(args[1:])
	default:
		err = fmt.Errorf("usage: peer client SERVER HOST:PORT | peer server [--hessian2] [--wrong]")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
