module github.com/galehttp/gale

go 1.26
