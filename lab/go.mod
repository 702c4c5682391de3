module github.com/galehttp/gale/lab

go 1.26.0

replace github.com/galehttp/gale => ..
