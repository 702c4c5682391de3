package fasthttp

import _ "unsafe" // for go:linkname

// Whoever imports this package expects fasthttp's names on the wire and its
// way to dial. Gale's own defaults.go says what these variables are.

//go:linkname defaultServerName github.com/galehttp/gale.defaultServerName
var defaultServerName string

//go:linkname defaultUserAgent github.com/galehttp/gale.defaultUserAgent
var defaultUserAgent string

//go:linkname defaultDualStack github.com/galehttp/gale.defaultDualStack
var defaultDualStack bool

func init() {
	defaultServerName = "fasthttp"
	defaultUserAgent = "fasthttp"
	defaultDualStack = false
}
