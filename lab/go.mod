module github.com/galehttp/gale/lab

go 1.26.0

replace github.com/galehttp/gale => ..

require github.com/galehttp/gale v0.0.0

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
