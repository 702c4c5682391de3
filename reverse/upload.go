package reverse

import (
	"io"
	"sync"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
)

// upload is the body of a request that the HostClient sends while it receives the response. The
// HostClient reads it on a goroutine of its own, which may continue after the exchange has ended: it
// then gets nothing more from the client.
type upload struct {
	clientBody
	head gale.RequestHeader // like that of the request, and after the end with the trailer section

	trails bool // see Trails

	mu     sync.Mutex
	late   *time.Timer // cancels if the upstream doesn't take in time what was read
	closed bool
}

// setUpload makes the client's body, of n bytes or -1, that of the request, unless n is 0.
func (x *exchange) setUpload(n int) {
	if n == 0 {
		return
	}
	u := new(upload)
	u.init(x, n)
	u.trails = u.arrives && overHTTP2(x.client.Request.Header.Protocol())
	x.req.Header.CopyTo(&u.head)
	x.req.SetBodyStream(u, n)
}

// Read reads from the client.
func (u *upload) Read(p []byte) (n int, err error) {
	u.rest()
	n, err = u.read(p)
	if err == io.EOF && (u.chunked || u.trails) && !u.passTrailers(&u.head) {
		err = io.ErrClosedPipe
	}
	if n > 0 {
		u.arm()
	}
	return n, err
}

// Trailers returns the header of the request with the trailer section, see door.Trailered.
func (u *upload) Trailers(door.Seal) any { return &u.head }

// Trails implements door.Trailing.
func (u *upload) Trails() bool { return u.trails }

// arm starts the time limit for the upstream to take what was read. It doesn't end a response that
// has begun: an upstream that answers early need not read the rest.
func (u *upload) arm() {
	u.mu.Lock()
	defer u.mu.Unlock()
	d := limit(u.x.p.BodyIdleTimeout, DefaultBodyIdleTimeout)
	switch {
	case d == 0 || u.closed:
	case u.late != nil:
		u.late.Reset(d)
	default:
		u.late = time.AfterFunc(d, func() {
			if !u.answered.Load() {
				u.x.cancel(ErrIdle)
			}
		})
	}
}

// rest ends the time limit.
func (u *upload) rest() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.late != nil {
		u.late.Stop()
	}
}

// Close is called when the body was sent, or won't be.
func (u *upload) Close() error {
	u.rest()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	return nil
}
