package fasthttpadaptor

import _ "unsafe" // for go:linkname

// A program that imports this package expects that a hijacked connection begins with what
// was written, unchanged. Package adaptor says what this variable is.
//
//go:linkname bareHijack github.com/galehttp/gale/adaptor.bareHijack
var bareHijack bool

func init() { bareHijack = true }
