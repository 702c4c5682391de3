package fasthttpadaptor

import _ "unsafe" // for go:linkname

// Whoever imports this package expects that a connection which is taken over begins with
// what was written, as it is. Package adaptor says what this variable is.
//
//go:linkname bareHijack github.com/galehttp/gale/adaptor.bareHijack
var bareHijack bool

func init() { bareHijack = true }
