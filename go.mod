module github.com/galehttp/gale

go 1.26.0

require golang.org/x/sys v0.49.0

require (
	github.com/andybalholm/brotli v1.2.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
)
