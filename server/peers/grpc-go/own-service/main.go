// A Go service as people have them, which knows nothing of benchmarks: gRPC with reflection, and Go's own debug endpoints.
package main

import (
	_ "expvar"
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	debug, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(http.Serve(debug, nil)) }()
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	fmt.Printf("{\"addr\":%q,\"debug_addr\":\"http://%s\"}\n", listener.Addr(), debug.Addr())
	log.Fatal(server.Serve(listener))
}
