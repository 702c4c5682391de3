module github.com/galehttp/gale/tests/differential

go 1.26.0

require (
	github.com/fasthttp/router v1.5.4
	github.com/galehttp/gale v0.0.0
	github.com/valyala/fasthttp v1.78.0
)

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/molecule-man/go-brrr v1.3.1 // indirect
	github.com/savsgio/gotils v0.0.0-20240704082632-aef3928b8a38 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/galehttp/gale => ../..

// fasthttp's brotli encoder in the version it asks for can't be downloaded
// everywhere; nothing here compresses.
replace github.com/molecule-man/go-brrr => github.com/molecule-man/go-brrr v1.0.1
