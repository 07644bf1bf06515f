// An echo in the raw protocol of which is known what each request allocates: three blocks of 1,024, 5,376 and 64 bytes, which
// are size classes of Go's allocator. The test client/tests/go_server.rs measures it.
package main

import (
	"encoding/binary"
	_ "expvar"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
)

// What a request gets, and 1000 and 5000 of it need: the rest is lost in the size class.
var sizes = [3]int{1000, 5000, 64}

type connection struct {
	net.Conn
	buffer []byte
	// On the heap, so that what it points to is too.
	blocks [len(sizes)][]byte
}

func (c *connection) serve() {
	for {
		if _, err := io.ReadFull(c, c.buffer[:4]); err != nil {
			return
		}
		message := c.buffer[:4+binary.BigEndian.Uint32(c.buffer)]
		if _, err := io.ReadFull(c, message[4:]); err != nil {
			return
		}
		c.allocate()
		if _, err := c.Write(message); err != nil {
			return
		}
	}
}

func (c *connection) allocate() {
	for i, size := range sizes {
		c.blocks[i] = make([]byte, size)
	}
}

func main() {
	vars := flag.Bool("vars", true, "serve expvar beside pprof")
	flag.Parse()
	echo, debug := listen(), listen()
	mux := http.DefaultServeMux
	if !*vars {
		mux = http.NewServeMux()
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	}
	go func() { log.Fatal(http.Serve(debug, mux)) }()
	fmt.Println(echo.Addr(), debug.Addr())
	for {
		conn, err := echo.Accept()
		if err != nil {
			log.Fatal(err)
		}
		c := &connection{Conn: conn, buffer: make([]byte, 1<<20)}
		go c.serve()
	}
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return listener
}
