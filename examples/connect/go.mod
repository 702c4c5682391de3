module github.com/galehttp/gale/examples/connect

go 1.26.0

require (
	connectrpc.com/connect/v2 v2.0.2
	github.com/galehttp/gale v0.0.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

// Outside of a clone of Gale you need no such line.
replace github.com/galehttp/gale => ../..
