package ws

import (
	"sync"

	"github.com/galehttp/gale/internal/wsframe"
)

// params is what a handshake has negotiated. Connections that negotiated the same share
// it. It doesn't change.
type params struct {
	*settings
	subprotocol string
	deflate     wsframe.Deflate
	takesOver   bool // at least one side keeps its window: the Socket has a takeover
}

// paramsCache has the params of the connections of one Options.
type paramsCache struct {
	mu   sync.Mutex
	list []*params
}

// maxParams is how many params a cache keeps.
const maxParams = 256

// get returns the params for what a handshake has negotiated.
func (c *paramsCache) get(s *shook) *params {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.list {
		if p.deflate == s.deflate && p.subprotocol == s.subprotocol {
			return p
		}
	}
	p := &params{settings: s.set, subprotocol: s.subprotocol, deflate: s.deflate}
	p.takesOver = p.deflate.On && !(p.deflate.ServerNoTakeover && p.deflate.ClientNoTakeover)
	if len(c.list) < maxParams {
		c.list = append(c.list, p)
	}
	return p
}
