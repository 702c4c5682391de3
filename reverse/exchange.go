package reverse

import (
	"cmp"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/shares"
)

// exchange is a request that is passed on, with its response. It is also the body
// of the response to the client: Read reads from the upstream, and Close ends the
// exchange. And it is the context of the request to the upstream, see life.
type exchange struct {
	life
	p       *Proxy
	client  *gale.RequestCtx
	up      *upstream
	req     *gale.Request
	resp    *gale.Response
	late    *time.Timer  // cancels after Proxy.Timeout
	idle    *time.Timer  // cancels while Read is running
	hasBody bool         // the body is in req
	addr    netip.Addr   // of the client's connection
	place   shares.Place // in the client's share of the upstream's connections
	left    bool         // leave was called
	over    bool         // Close was called
	whole   bool         // the whole response has come
	owed    int64        // how many bytes of its body have not come; negative if it has no length
	trails  bool         // see Trails
	shared  bool         // a goroutine or the server holds it

	// The list of flights, guarded by its lock.
	next, prev *exchange
	round      uint
	unwatch    func() bool // nil while the client isn't watched

	// While the body is read, another goroutine may break it off, see breakOff.
	use      sync.Mutex    // held by Read, Close and breakOff
	given    atomic.Int64  // the tick at which the last Read returned, 0 during a Read, or without a limit
	patience time.Duration // how long after that the next Read may come
	lent     bool          // the client's response has x as its stream, under use
	broken   bool          // breakOff was carried out, under use

	named     [][]byte // the names in Connection of the request
	respNamed [][]byte // the names in Connection of the response

	body     *clientBody    // what another goroutine reads, or nil
	upgraded *door.Upgraded // the upstream's connection after a 101, or nil
}

// newExchange returns an exchange for the request in client.
func (p *Proxy) newExchange(client *gale.RequestCtx) *exchange {
	x := exchanges.Get().(*exchange)
	x.p, x.client, x.req, x.resp = p, client, gale.AcquireRequest(), gale.AcquireResponse()
	if p.Timeout > 0 {
		x.late = time.AfterFunc(p.Timeout, func() { x.cancel(gale.ErrTimeout) })
	}
	p.flights.add(x)
	return x
}

// exchanges holds the exchanges that forget has emptied.
var exchanges = pool.Pool{New: func() any { return new(exchange) }}

// forget makes x ready for another request, if no other code can hold it: there is
// no timer, no watch of the client, no stream, no goroutine, and no context was
// derived from it.
func (x *exchange) forget() {
	if x.shared || !x.over || !x.whole || x.late != nil || x.idle != nil || x.unwatch != nil || !x.untouched() {
		return
	}
	stop := x.stop
	*x = exchange{}
	x.stop = stop
	exchanges.Put(x)
}

// leave stops watching the client.
func (x *exchange) leave() {
	if x.left {
		return
	}
	x.left = true
	x.p.flights.remove(x)
	if x.unwatch != nil {
		x.unwatch()
	}
	if x.late != nil {
		x.late.Stop()
	}
}

// runSafely is run, but leaves nothing open after an error or a panic.
func (x *exchange) runSafely() (err error) {
	returned := false
	defer func() {
		if !returned || err != nil {
			x.Close()
		}
	}()
	err = x.run()
	returned = true
	return err
}

// run sends the request to an upstream and sets the response for the client. Its
// error is an *Error.
func (x *exchange) run() error {
	var tried []*upstream
	err := error(ErrNoUpstream)
	for {
		u := x.p.choose(tried)
		if u == nil {
			break
		}
		x.take(u)
		if err = x.ask(); err == nil {
			if x.body != nil {
				x.body.answered.Store(true)
			}
			break
		}
		if cause := x.ended(); cause != nil {
			err = cause
		}
		if err == gale.ErrTimeout && x.body != nil && x.body.waits() {
			err = bodyError{err}
		}
		if blames(err) {
			u.failed(x.p)
		}
		if !unsent(err) || x.Err() != nil {
			break
		}
		tried = append(tried, u)
	}
	if err == nil {
		err = x.setResponse()
	}
	if err == nil {
		return nil
	}
	e := &Error{StatusCode: statusOf(err), Err: err}
	if x.up != nil {
		e.Upstream = x.up.name
	}
	return e
}

// take makes u the upstream of the exchange.
func (x *exchange) take(u *upstream) {
	if x.up != nil {
		x.up.pending.Add(-1)
		x.leaveShare()
	}
	x.up = u
	u.pending.Add(1)
}

// ask sends the request to the upstream and reads the head of the response.
func (x *exchange) ask() error {
	client := x.client
	body := client.RequestBodyStream()
	if err := door.MustBeWhole(&client.Request); err != nil && !x.hasBody {
		return err
	}
	n, err := x.bodyLength(body)
	if err != nil {
		return err
	}
	upgrade, err := x.setRequest(n)
	if err != nil {
		return err
	}
	streams := n == -1 || n > 0 && !(n <= maxAlong && x.takeBody(body, n))
	switch {
	case upgrade != "" && x.p.HTTP2 == gale.HTTP2Only:
		return ErrNoUpgrade
	case upgrade != "":
		if err = x.enterShare(true); err == nil {
			x.upgraded, err = door.Upgrade(x, x.up.upgrader, x.req, x.resp)
		}
		return err
	}
	if err := x.enterShare(false); err != nil {
		return err
	}
	length := 0 // of the stream, if there is one
	if streams {
		length = n
	}
	return x.send(length)
}

// send sends the request, with a stream of n bytes, or -1, as the body unless n is 0.
func (x *exchange) send(n int) error {
	x.setUpload(n)
	if x.takesTrailers() { // TE is for one connection, but the proxy takes trailer fields, too
		return door.DoTrailers(x, x.up.client, x.req, x.resp)
	}
	return x.up.client.DoContext(x, x.req, x.resp)
}

// bodyLength returns the length of the client's body. It says how the body is framed: -1 is
// chunked, or longer than an int can say, and is sent chunked; 0 and -2 are no body. stream is the
// body unless it is in memory: then the header may have the length of an earlier one.
func (x *exchange) bodyLength(stream io.Reader) (int, error) {
	req := &x.client.Request
	n := req.Header.ContentLength()
	if stream != nil {
		return n, nil
	}
	b := req.Body()
	if err := req.BodyError(); err != nil && len(b) == 0 {
		return 0, bodyError{err}
	}
	if n == -1 {
		return n, nil
	}
	return len(b), nil
}

// takesTrailers reports whether the client has said that it takes trailer fields. Servers of
// gRPC answer no other requests.
func (x *exchange) takesTrailers() bool {
	return bytesconv.HasElement(x.client.Request.Header.PeekAll("TE"), "trailers")
}

// maxAlong is the largest body in bytes that is sent together with its head.
const maxAlong = 8 << 10

// takeBody makes the body of length n, if all of it has arrived, part of the request.
func (x *exchange) takeBody(body io.Reader, n int) bool {
	if x.hasBody {
		return true // it was taken before, for another upstream
	}
	if body == nil {
		x.req.SetBody(x.client.Request.Body())
		x.hasBody = true
		return true
	}
	if s, ok := body.(interface{ Buffered() int }); !ok || s.Buffered() != n {
		return false
	}
	if s, ok := body.(interface{ IsLast() bool }); ok && !s.IsLast() {
		return false // a trailer section may come
	}
	b := pool.Get(n)
	defer pool.Put(b)
	if _, err := io.ReadFull(body, b.B[:n]); err != nil {
		return false // the next read returns the same error
	}
	x.req.SetBody(b.B[:n])
	x.hasBody = true
	return true
}

// setRequest makes the head for the upstream. n is bodyLength. upgrade is the protocol that the
// client wants to switch to, or "".
func (x *exchange) setRequest(n int) (upgrade string, err error) {
	from, to := &x.client.Request.Header, &x.req.Header
	door.SettleURI(&x.client.Request)
	from.CopyTo(to)
	to.SetProtocol("HTTP/1.1")
	to.SetNoDefaultContentType(true) // a request without Content-Type stays without one
	if n == 0 || n == -2 {
		upgrade = wantsUpgrade(from)
	}
	x.addr = peer(x.client)
	trusted := x.p.trusts(x.addr)
	x.named = requestHop(to, trusted)
	if n == 0 || n == -2 || string(from.Protocol()) < "HTTP/1.1" {
		to.Del("Expect")
	}
	x.p.setForwarded(to, x.addr, trusted, x.client.IsTLS())
	if err := x.p.setTarget(x.client, to, x.up); err != nil {
		return "", err
	}
	x.p.addVia(to, from.Protocol())
	if upgrade != "" {
		to.Set("Connection", "Upgrade")
		to.Set("Upgrade", upgrade)
	}
	if x.p.Rewrite != nil {
		x.p.Rewrite(x.client, to)
	}
	return upgrade, nil
}

// passInterim sends an informational response of the upstream to the client. A 100 that the
// client doesn't wait for isn't passed on.
func (x *exchange) passInterim(h *gale.ResponseHeader) {
	if h.StatusCode() == gale.StatusContinue {
		if x.body != nil {
			x.body.ask()
		}
		return
	}
	responseHop(h)
	if err := x.client.SendInterim(h.StatusCode(), h); err != nil {
		x.cancel(gale.ErrClientGone)
	}
}

// setResponse sets the response for the client. The exchange ends after the body
// was sent, or at once if there is no body.
func (x *exchange) setResponse() error {
	from, to := &x.resp.Header, &x.client.Response
	from.SetNoDefaultContentType(true) // a response without Content-Type stays without one
	if from.StatusCode() == gale.StatusSwitchingProtocols {
		return x.switchProtocols()
	}
	x.respNamed = responseHop(from)
	x.p.addVia(from, from.Protocol())
	copyFields(from, &to.Header)
	switch {
	case x.client.IsHead():
		to.SkipBody = true // the length is that of the response to GET
		x.whole = true
	case x.resp.IsBodyStream():
		x.shared = true
		x.setPatience()
		x.owed = max(door.ContentLength(from), -1)
		x.trails = overHTTP2(from.Protocol()) && overHTTP2(x.client.Request.Header.Protocol())
		length := max(from.ContentLength(), -1) // also -1 if an int can't hold it
		for range from.Trailers() {
			length = -1 // HTTP/1.1 has trailer fields after chunked bodies only
			break
		}
		to.SetBodyStream(x, length)
		// A client may wait for the head before it sends more, and an upstream may take
		// its time with the first event.
		to.ImmediateHeaderFlush = length < 0 || x.body != nil
		x.lend()
		return nil
	default:
		to.SetBody(x.resp.Body())
		x.whole = true
	}
	x.Close()
	return nil
}

// overHTTP2 reports whether p is the version of a message of HTTP/2.
func overHTTP2(p []byte) bool { return string(p) == "HTTP/2.0" }

// Trails implements door.Trailing.
func (x *exchange) Trails() bool { return x.trails }

// lend leaves x to the client's response, which has it. If x has ended already, Read returns why.
func (x *exchange) lend() {
	x.use.Lock()
	x.lent = true
	x.use.Unlock()
	if x.ended() != nil {
		x.Close()
	}
}

// versionSent is the version of all responses: a proxy sends its own (RFC 9110 section 2.5).
var versionSent = []byte("HTTP/1.1")

// copyFields copies the head of a response. Fields that handlers around the proxy
// have set stay, unless the upstream has set them, too.
func copyFields(from, to *gale.ResponseHeader) {
	type field struct{ name, value string }
	var before []field
	for name, value := range to.All() {
		if string(name) != "Content-Type" && string(name) != "Content-Length" && string(name) != "Server" && string(name) != "Date" {
			before = append(before, field{string(name), string(value)})
		}
	}
	from.CopyTo(to)
	to.SetProtocol(versionSent)
	for _, f := range before {
		if f.name == "Set-Cookie" || len(from.Peek(f.name)) == 0 {
			to.Add(f.name, f.value)
		}
	}
}

// Read reads the body of the response. At its end it adds the trailer fields to the
// response.
func (x *exchange) Read(p []byte) (int, error) {
	x.use.Lock()
	defer x.use.Unlock()
	switch {
	case x.over:
		return 0, cmp.Or(x.ended(), io.ErrClosedPipe) // the response may belong to another exchange by now
	case x.broken:
		return 0, errSlowClient
	case x.patience > 0:
		x.given.Store(0)
		defer func() { x.given.Store(int64(clock.Ticks())) }()
	}
	x.armIdle()
	n, err := x.resp.BodyStream().Read(p)
	if x.idle != nil {
		x.idle.Stop()
	}
	if x.owed -= int64(n); x.owed == 0 {
		x.whole = true // whether the upstream ends its stream at once or not
	}
	switch {
	case err == nil:
	case err == io.EOF:
		x.whole = true
		passTrailers(&x.client.Response.Header, x.respNamed, func(yield func(name, value []byte) bool) {
			for name := range x.resp.Header.Trailers() {
				for _, value := range x.resp.Header.PeekAll(string(name)) {
					if !yield(name, value) {
						return
					}
				}
			}
		})
	default:
		if cause := x.ended(); cause != nil {
			err = cause
		}
		if blames(err) && err != gale.ErrTimeout { // the timeout may be due to a slow client
			x.up.failed(x.p)
		}
	}
	return n, err
}

// armIdle starts the time limit for the next bytes of the body.
func (x *exchange) armIdle() {
	d := limit(x.p.BodyIdleTimeout, DefaultBodyIdleTimeout)
	switch {
	case d == 0:
	case x.idle != nil:
		x.idle.Reset(d)
	default:
		x.idle = time.AfterFunc(d, func() { x.cancel(ErrIdle) })
	}
}

// abandon closes x when the client's request is over, if the client's response has it. After a
// time-out no one else would.
func (x *exchange) abandon() {
	defer survive()
	x.use.Lock()
	lent := x.lent
	x.use.Unlock()
	if lent {
		x.Close()
	}
}

// Close ends the exchange. If the body was not read to its end, the connection to
// the upstream is closed.
func (x *exchange) Close() error {
	x.use.Lock()
	defer x.use.Unlock()
	if x.over {
		return nil
	}
	x.over = true
	if x.whole {
		x.up.worked()
	}
	x.leave()
	if x.idle != nil {
		x.idle.Stop()
	}
	err := x.resp.CloseBodyStream()
	if x.upgraded != nil {
		x.upgraded.Close()
	}
	x.leaveShare()
	if x.body != nil {
		x.body.end()
	}
	gale.ReleaseRequest(x.req)
	gale.ReleaseResponse(x.resp)
	if x.up != nil {
		x.up.pending.Add(-1)
	}
	return err
}
