package load

import (
	"crypto/tls"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// target is a Target, ready to be sent. All loops share it and don't change it.
type target struct {
	*Target
	server int    // index of its address
	fixed  []byte // the whole request, nil if each is different
	last   []byte // likewise, with "Connection: close"
	echo   []byte // of WebSocket: what the server should answer to fixed
	isHead bool   // the method of fixed is HEAD
	method string // for the report

	config *tls.Config
	head   *head.Request // of fixed, for HTTP/2
	body   []byte        // of fixed, for HTTP/2 and WebSocket
}

func newTarget(t *Target, server int, plan *Plan) *target {
	if plan.WebSocket {
		return webSocketTarget(t, server, plan)
	}
	p := &target{Target: t, server: server, config: withALPN(t.TLS, plan.HTTP2)}
	r := t.Source.Fixed()
	if r == nil {
		var first Request
		t.Source.Fill(&first, 0)
		p.method = method(&first)
		return p
	}
	p.method = method(r)
	p.isHead = p.method == "HEAD"
	var h head.Request
	r.Head.CopyTo(&h)
	if plan.HTTP2 {
		setLength(&h, len(r.Body))
		p.head, p.body = &h, r.Body
		return p
	}
	p.last = append(appendHead(nil, &h, len(r.Body), true), r.Body...)
	p.fixed = p.last
	if !plan.NoKeepAlive {
		h.Reset()
		r.Head.CopyTo(&h)
		p.fixed = append(appendHead(nil, &h, len(r.Body), false), r.Body...)
	}
	return p
}

func method(r *Request) string {
	if m := r.Head.Part(msg.Method); len(m) > 0 {
		return string(m)
	}
	return "GET"
}

// appendHead appends the head of a request with a body of n bytes.
func appendHead(dst []byte, h *head.Request, n int, closes bool) []byte {
	setLength(h, n)
	if closes {
		h.Conn |= msg.ConnClose
	}
	return h1.AppendRequestHead(dst, h)
}

// server is an address, seen by one loop.
type server struct {
	id       int
	endpoint *endpoint
	targets  []int32 // pattern: which target comes next in a closed loop
	at       int     // in targets, of the next turn
	free     ring    // connections that can take a request, of an open loop
	leftOpen int     // connections in a row that it didn't close after their last response

	next    start // of an open loop
	noticed start // the first one that the loop has not noticed, if it is after next
	waiting bool  // starts wait for a free connection
}

// start is a start of an open loop.
type start struct {
	index  int64 // among the starts of the loop
	at     int64 // when, or never
	target int32
	step   int32
}

// turn returns the target of the next request of a closed loop.
func (s *server) turn() int32 {
	t := s.targets[s.at]
	if s.at++; s.at == len(s.targets) {
		s.at = 0
	}
	return t
}

// ring is a queue of connections. It has room for all of a loop.
type ring struct {
	conns []*conn
	first int
	n     int
}

func (r *ring) push(c *conn) {
	r.conns[(r.first+r.n)%len(r.conns)] = c
	r.n++
}

func (r *ring) pop() *conn {
	c := r.conns[r.first]
	r.first = (r.first + 1) % len(r.conns)
	r.n--
	return c
}

// pattern returns indexes of weights in an order in which each comes as often as its weight
// says, spread evenly.
func pattern(weights []int) []int32 {
	total, div := 0, 0
	for _, w := range weights {
		total += w
		div = gcd(div, w)
	}
	out := make([]int32, 0, total/max(div, 1))
	credit := make([]int, len(weights))
	for range cap(out) {
		best := 0
		for i, w := range weights {
			credit[i] += w
			if credit[i] > credit[best] {
				best = i
			}
		}
		credit[best] -= total
		out = append(out, int32(best))
	}
	return out
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
