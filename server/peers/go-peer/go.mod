module echo-peer

go 1.26
