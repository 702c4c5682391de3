package prefork

import _ "unsafe" // for go:linkname

// A program that imports this package expects that a Prefork which names no network
// listens on IPv4. Package prefork says what this variable is.
//
//go:linkname defaultNetwork github.com/galehttp/gale/prefork.defaultNetwork
var defaultNetwork string

func init() { defaultNetwork = "tcp4" }
