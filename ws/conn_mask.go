package ws

import (
	"crypto/rand"

	"github.com/galehttp/gale/internal/pool"
)

// maskKeys are random bytes for masking keys (RFC 6455 section 5.3). Each byte is used
// once.
type maskKeys struct {
	at int
	b  [256]byte
}

var maskPool pool.Pool // of *maskKeys

// newMask returns a masking key that can't be predicted.
func newMask() (key [4]byte) {
	k, _ := maskPool.Get().(*maskKeys)
	if k == nil {
		k = &maskKeys{at: len(k.b)}
	}
	if k.at+len(key) > len(k.b) {
		_, _ = rand.Read(k.b[:]) // never fails
		k.at = 0
	}
	k.at += copy(key[:], k.b[k.at:])
	maskPool.Put(k)
	return key
}
