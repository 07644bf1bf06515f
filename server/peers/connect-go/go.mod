module echo-peer-connect-go

go 1.26.0

require (
	connectrpc.com/connect v1.21.1
	connectrpc.com/grpchealth v1.5.0
	echo-peer v0.0.0
	google.golang.org/protobuf v1.36.12
)

replace echo-peer => ../go-peer
