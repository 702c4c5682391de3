package reverse

import (
	"io"
	"log"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/pool"
)

// wantsUpgrade returns the protocols that the client wants to switch to, or "" if
// there are none. A request with a body doesn't switch, and neither does one that
// says it is the last.
func wantsUpgrade(h *gale.RequestHeader) string {
	if !h.ConnectionUpgrade() || !h.IsHTTP11() || h.ConnectionClose() || h.ContentLength() != 0 && h.ContentLength() != -2 {
		return ""
	}
	var wanted []string
	for protocol := range strings.SplitSeq(string(h.Peek("Upgrade")), ",") {
		// HTTP/2 is not offered: it would carry other requests past the proxy (RFC
		// 9113 section 3.1).
		if protocol = strings.TrimSpace(protocol); protocol != "" && !isHTTP2(protocol) {
			wanted = append(wanted, protocol)
		}
	}
	return strings.Join(wanted, ", ")
}

func isHTTP2(protocol string) bool {
	name, _, _ := strings.Cut(protocol, "/")
	return strings.EqualFold(name, "h2c") || strings.EqualFold(name, "h2")
}

// switchProtocols joins both connections after the upstream's 101.
func (x *exchange) switchProtocols() error {
	o := x.own
	asked, got := string(x.req.Header.Peek("Upgrade")), string(x.resp.Header.Peek("Upgrade"))
	if o == nil || !offered(asked, got) {
		return ErrUpgrade
	}
	x.up.worked()
	x.leave()
	nc, err := x.client.HijackNow()
	if err != nil {
		return err
	}
	joined := false
	defer func() {
		if !joined { // a panic, too
			closeCalmly(nc)
		}
	}()
	if !o.unwatch() {
		return gale.ErrClientGone
	}
	o.unwatch = nil
	_ = o.nc.SetDeadline(time.Time{})
	t := &tunnel{client: nc, up: o.nc, idle: limit(x.p.UpgradeIdleTimeout, DefaultUpgradeIdleTimeout)}
	head := x.switchHead(got)
	first, _ := o.br.Peek(o.br.Buffered())
	head = append(head, first...)
	_, _ = o.br.Discard(len(first))
	if !x.p.tunnels.add(t) {
		return ErrNoUpstream
	}
	joined = true
	go func() {
		defer x.Close() // closes the upstream's connection
		defer x.p.tunnels.remove(t)
		t.run(head)
	}()
	return nil
}

// offered reports whether protocol is one of list (RFC 9110 section 7.8).
func offered(list, protocol string) bool {
	for name := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(name), strings.TrimSpace(protocol)) {
			return true
		}
	}
	return false
}

// switchHead returns the head of the 101 for the client.
func (x *exchange) switchHead(protocol string) []byte {
	h := &x.resp.Header
	responseHop(h)
	h.Del("Content-Length")
	x.p.addVia(h, h.Protocol())
	b := []byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol + "\r\n")
	for name, value := range h.All() {
		switch string(name) {
		case "Content-Length", "Transfer-Encoding", "Trailer", "Connection":
			continue
		}
		b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
	}
	return append(b, "\r\n"...)
}

// tunnel is a pair of joined connections.
type tunnel struct {
	client, up net.Conn
	idle       time.Duration
	timer      *time.Timer // closes both, when neither side sends
}

// run sends head to the client. Then it sends the data of each side to the other
// one, until both sides have ended.
func (t *tunnel) run(head []byte) {
	defer t.close()
	defer survive()
	if t.idle > 0 {
		t.timer = time.AfterFunc(t.idle, t.close)
		defer t.timer.Stop()
	}
	if _, err := t.client.Write(head); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.copy(t.up, t.client)
	}()
	t.copy(t.client, t.up)
	<-done
}

// copy copies data from from to to. If from ends, the end is passed on; any error
// ends both connections.
func (t *tunnel) copy(to, from net.Conn) {
	ended := false
	defer func() {
		if !ended {
			t.close() // a panic, too
		}
	}()
	defer survive()
	b := pool.Get(bodyBuffer)
	defer pool.Put(b)
	buf := b.B[:bodyBuffer]
	for {
		n, err := from.Read(buf)
		if t.timer != nil {
			t.timer.Reset(t.idle)
		}
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err == nil {
			continue
		}
		if half, ok := to.(interface{ CloseWrite() error }); err == io.EOF && ok && half.CloseWrite() == nil {
			ended = true
		}
		return
	}
}

func (t *tunnel) close() {
	closeCalmly(t.client)
	closeCalmly(t.up)
}

// closeCalmly closes a connection that user code may have made, and recovers a
// panic.
func closeCalmly(nc net.Conn) {
	defer survive()
	_ = nc.Close()
}

// survive recovers and logs a panic of a connection that user code may have made.
// It must be deferred.
func survive() {
	if r := recover(); r != nil {
		log.Printf("reverse: an upgraded connection panicked: %v\n%s", r, debug.Stack())
	}
}

// tunnels are the open tunnels.
type tunnels struct {
	mu     sync.Mutex
	open   map[*tunnel]struct{}
	closed bool
}

// add adds t, and returns false if the proxy is closed.
func (s *tunnels) add(t *tunnel) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.open == nil {
		s.open = make(map[*tunnel]struct{})
	}
	s.open[t] = struct{}{}
	return true
}

func (s *tunnels) remove(t *tunnel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, t)
}

func (s *tunnels) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// close closes all tunnels, and makes add refuse new ones.
func (s *tunnels) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for t := range s.open {
		t.close()
	}
}
