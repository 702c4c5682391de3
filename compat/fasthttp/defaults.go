package fasthttp

import _ "unsafe" // for go:linkname

// A program that imports this package expects fasthttp's names on the wire, its way to
// dial, to listen, to follow redirects, to parse forms, to serve files and to update URIs, and
// its texts of errors.
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

//go:linkname formsFirst github.com/galehttp/gale.formsFirst
var formsFirst bool

//go:linkname defaultHTTP2 github.com/galehttp/gale.defaultHTTP2
var defaultHTTP2 bool

//go:linkname updateKeepsHash github.com/galehttp/gale.updateKeepsHash
var updateKeepsHash bool

//go:linkname headLimitPrefix github.com/galehttp/gale.headLimitPrefix
var headLimitPrefix string

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
	formsFirst = true
	defaultHTTP2 = false
	updateKeepsHash = true
	headLimitPrefix = "fasthttp: small read buffer. increase readbuffersize: "
	errorPrefix = "fasthttp: "
	bareErrorPrefix = ""
}
