module github.com/galehttp/gale/cmd/galevet

go 1.26.0

require golang.org/x/tools v0.51.0

require golang.org/x/sync v0.23.0 // indirect
