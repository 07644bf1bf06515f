package main

import (
	"context"

	"echo-peer"

	"dubbo.apache.org/dubbo-go/v3/remoting/getty"
	hessian "github.com/apache/dubbo-go-hessian2"
)

// The interface that Dubbo's benchmark has, and its classes.
const javaPackage = "org.apache.dubbo.benchmark."

// Request is BenchmarkRequest.
type Request struct{ Payload []byte }

// Response is BenchmarkResponse.
type Response struct{ Payload []byte }

// JavaClassName is how the class is called on the wire.
func (*Request) JavaClassName() string { return javaPackage + "BenchmarkRequest" }

// JavaClassName is how the class is called on the wire.
func (*Response) JavaClassName() string { return javaPackage + "BenchmarkResponse" }

// Objects is the service of Dubbo's own protocol; Java calls the method unaryCall.
type Objects struct{ echo *peer.Echo }

// UnaryCall echoes a message.
func (o *Objects) UnaryCall(ctx context.Context, request *Request) (*Response, error) {
	payload, err := o.echo.Unary.Answer(ctx, request.Payload)
	if err != nil {
		return nil, err
	}
	return &Response{Payload: payload}, nil
}

// Makes the classes known, and the limit of a message what that of the other servers is: by default it is 1,024,000 bytes, so that a
// payload of 1 MiB would close its connection.
func prepareDubbo() {
	hessian.RegisterPOJO(&Request{})
	hessian.RegisterPOJO(&Response{})
	config := *getty.GetDefaultServerConfig()
	config.GettySessionParam.MaxMsgLen = peer.MessageLimit + objectOverhead
	getty.SetServerConfig(config)
}

// What a message has beside its payload: names, and three bytes for each 4,096.
const objectOverhead = 64 << 10
