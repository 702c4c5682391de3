package fasthttp

import _ "unsafe" // for go:linkname

// A program that imports this package expects fasthttp's names on the wire, its way to
// dial, to listen, to follow redirects and to serve files, and its texts of errors.
// Gale's own defaults.go says what these variables are.

//go:linkname defaultServerName github.com/galehttp/gale.defaultServerName
var defaultServerName string

//go:linkname defaultUserAgent github.com/galehttp/gale.defaultUserAgent
var defaultUserAgent string

//go:linkname defaultDualStack github.com/galehttp/gale.defaultDualStack
var defaultDualStack bool

//go:linkname keepRedirectedBody github.com/galehttp/gale.keepRedirectedBody
var keepRedirectedBody bool

//go:linkname fsAnswersAll github.com/galehttp/gale.fsAnswersAll
var fsAnswersAll bool

//go:linkname defaultHTTP2 github.com/galehttp/gale.defaultHTTP2
var defaultHTTP2 bool

//go:linkname errorPrefix github.com/galehttp/gale.errorPrefix
var errorPrefix string

//go:linkname bareErrorPrefix github.com/galehttp/gale.bareErrorPrefix
var bareErrorPrefix string

func init() {
	defaultServerName = "fasthttp"
	defaultUserAgent = "fasthttp"
	defaultDualStack = false
	keepRedirectedBody = true
	fsAnswersAll = true
	defaultHTTP2 = false
	errorPrefix = "fasthttp: "
	bareErrorPrefix = ""
}
