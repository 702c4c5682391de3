module github.com/galehttp/gale/examples/autocert

go 1.26.0

require (
	github.com/galehttp/gale v0.0.0
	golang.org/x/crypto v0.58.0
)

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

// Outside of a clone of Gale this line is not needed, with a version that was released.
replace github.com/galehttp/gale => ../..
