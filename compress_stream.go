package gale

import "github.com/galehttp/gale/internal/compress"

func encodeStream(resp *Response, c compress.Coding, level int) { panic("stub") }
