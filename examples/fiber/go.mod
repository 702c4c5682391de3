module github.com/galehttp/gale/examples/fiber

go 1.26.0

require (
	github.com/galehttp/gale v0.0.0
	github.com/gofiber/fiber/v2 v2.52.15
)

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/mattn/go-colorable v0.1.13 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/mattn/go-runewidth v0.0.16 // indirect
	github.com/rivo/uniseg v0.2.0 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	github.com/valyala/fasthttp v1.78.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

// Outside of a clone of Gale one line does, with a version that was released:
//
//	replace github.com/valyala/fasthttp => github.com/galehttp/gale/compat/fasthttp VERSION
replace (
	github.com/galehttp/gale => ../..
	github.com/valyala/fasthttp => ../../compat/fasthttp
)
