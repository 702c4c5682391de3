package reverse

import (
	"bytes"
	"io"
	"log"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/door"
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
	for protocol := range bytesconv.Elements(h.PeekAll("Upgrade")) {
		// HTTP/2 is not offered: it would carry other requests past the proxy (RFC
		// 9113 section 3.1).
		if !isHTTP2(string(protocol)) {
			wanted = append(wanted, string(protocol))
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
	if x.upgraded == nil || !offered(x.req.Header.PeekAll("Upgrade"), x.resp.Header.PeekAll("Upgrade")) {
		return ErrUpgrade
	}
	got := string(bytes.Join(x.resp.Header.PeekAll("Upgrade"), []byte(", ")))
	x.up.worked()
	x.leave()
	head, err := x.switchHead(got)
	if head == nil {
		return err
	}
	nc, err := x.client.HijackNow()
	if err != nil {
		x.takeBack()
		return err
	}
	joined := false
	defer func() {
		if !joined { // a panic, too
			closeCalmly(nc)
		}
	}()
	if cause := x.ended(); cause != nil {
		return cause
	}
	x.shared = true
	t := &tunnel{client: nc, up: x.upgraded.Conn, idle: limit(x.p.UpgradeIdleTimeout, DefaultUpgradeIdleTimeout)}
	head = append(head, x.upgraded.First...)
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

// offered reports whether the request's Upgrade fields have all protocols that the response's
// name, and whether there is one (RFC 9110 section 7.8).
func offered(asked, got [][]byte) bool {
	switched := false
	for protocol := range bytesconv.Elements(got) {
		if switched = bytesconv.HasElement(asked, string(protocol)); !switched {
			break
		}
	}
	return switched
}

// switchHead returns the head of the 101 for the client, after the functions of BeforeSend have
// seen it. If they refuse the client, it ends x, and returns nil: their response is sent, without the
// upstream's fields. If the connection would end after the 101, that is a 503.
func (x *exchange) switchHead(protocol string) ([]byte, error) {
	from, to := &x.resp.Header, &x.client.Response
	responseHop(from)
	from.Del("Content-Length")
	x.p.addVia(from, from.Protocol())
	copyFields(from, &to.Header)
	to.Header.SetStatusMessage(nil) // another status has another one
	final, _ := door.Of(x.client).Final().(*gale.Response)
	if final == nil {
		return nil, gale.ErrRequestDone
	}
	if switches := final.StatusCode() == gale.StatusSwitchingProtocols; !switches || final.ConnectionClose() {
		if switches {
			WriteError(x.client, &Error{StatusCode: gale.StatusServiceUnavailable})
		}
		x.takeBack()
		_ = x.Close()
		return nil, nil
	}
	b := []byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + protocol + "\r\n")
	for name, value := range to.Header.All() {
		switch string(name) {
		case "Content-Length", "Transfer-Encoding", "Trailer", "Connection", "Upgrade":
			continue
		}
		b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
	}
	return append(b, "\r\n"...), nil
}

// takeBack deletes the upstream's fields from the response for the client, which isn't the 101 that
// they were meant for. Fields that functions of BeforeSend have set stay.
func (x *exchange) takeBack() {
	to := &x.client.Response.Header
	for name, value := range x.resp.Header.All() {
		switch string(name) {
		case "Content-Type", "Server", "Date":
			continue // each response has one
		}
		var others []string
		for _, v := range to.PeekAll(string(name)) {
			if !bytes.Equal(v, value) {
				others = append(others, string(v))
			}
		}
		to.DelBytes(name)
		for _, v := range others {
			to.Add(string(name), v)
		}
	}
}

// tunnelBuffer is how many bytes of a side are read at a time.
const tunnelBuffer = 32 << 10

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
	b := pool.Get(tunnelBuffer)
	defer pool.Put(b)
	buf := b.B[:tunnelBuffer]
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
		log.Printf("reverse: a connection panicked: %v\n%s", r, debug.Stack())
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
