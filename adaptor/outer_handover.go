package adaptor

import (
	"cmp"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"runtime/debug"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
)

// handOver lets h take over the connection. If a part of the request's body is left unread, it would
// be taken for bytes of the other protocol: then the connection ends after the response. A program
// that writes the response itself gets that part. handOver reports whether a response was sent.
func (o *outer) handOver(resp *gale.Response, h door.Hijack) (sent bool) {
	if (o.begun || !h.NoResponse) && !o.readBody() {
		h.Handler = dismiss
	}
	c, err := o.HijackNow(nil)
	if err != nil {
		if o.begun {
			panic(http.ErrAbortHandler) // a part of the response was sent
		}
		http.Error(o.w, "Internal Server Error", http.StatusInternalServerError)
		return true
	}
	handed := false
	defer func() {
		if !handed { // also if a stream panics or ends the goroutine
			c.Close()
		}
	}()
	_ = c.SetWriteDeadline(o.writeDeadline())
	switch {
	case o.begun:
		if err = bodyError(resp); err == nil {
			err = o.writeRest(c, resp)
		}
	case !h.NoResponse:
		err = o.writeWhole(c, resp)
	}
	if panicked := (*gale.ErrBodyStreamWritePanic)(nil); errors.As(err, &panicked) {
		errorLog(o.r)("gale: %v", err)
	}
	if err == nil {
		handed = true
		_ = c.SetDeadline(time.Time{})
		go hijacked(c, h.Handler, errorLog(o.r))
	}
	return handed && (o.begun || !h.NoResponse)
}

// How much of a body that the handler has left is read before a handover, or after a response that
// was sent meanwhile, and how long that may take.
const (
	maxDrain     = 256 << 10
	maxDrainTime = time.Second
)

// readBody reads what the handler has left of the request's body, and reports whether that was all.
func (o *outer) readBody() bool {
	b := o.body
	switch {
	case b == nil, b.whole.Load(), o.r.ProtoMajor > 1:
		return true
	case b.reading.Load():
		return false
	}
	// A client that waits for a 100 may or may not send the body.
	if o.awaits100() || b.sized && b.left > maxDrain || o.rc.SetReadDeadline(time.Now().Add(maxDrainTime)) != nil {
		return false
	}
	n, err := io.Copy(io.Discard, io.LimitReader(o.r.Body, maxDrain+1))
	if n > maxDrain || err != nil {
		return false
	}
	b.whole.Store(true)
	return o.rc.SetReadDeadline(time.Time{}) == nil
}

// dismiss ends a connection without losing what was written: it waits a moment for the client to
// read that, since to close with unread bytes would reset the connection.
func dismiss(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	if c.SetReadDeadline(time.Now().Add(maxDrainTime)) == nil {
		_, _ = io.CopyN(io.Discard, c, maxDrain)
	}
}

// writeWhole writes a response to c, which was taken from net/http.
func (o *outer) writeWhole(c net.Conn, resp *gale.Response) error {
	if !o.r.ProtoAtLeast(1, 1) {
		resp.Header.SetProtocol([]byte("HTTP/1.0")) // as net/http does: no chunks, and no trailers
	}
	switch {
	case o.skips(resp), resp.StatusCode() == http.StatusResetContent:
		resp.ResetBody()
		resp.SkipBody = true
		resp.Header.SetContentLength(0)
	case o.r.Method == http.MethodHead:
		resp.SkipBody = true
	case o.tunnels(resp):
		resp.ResetBody()
		resp.SkipBody = true
		resp.Header.SetContentLength(-2)
	case resp.IsBodyStream() && mayHaveContent(resp.StatusCode()):
		if _, err := resp.Header.WriteTo(c); err != nil {
			return err
		}
		o.framing, o.length = inChunks, 0
		if n := door.ContentLength(&resp.Header); n >= 0 {
			o.framing, o.length = sized, n
		}
		return o.writeRest(c, resp)
	}
	_, err := resp.WriteTo(c)
	if err == nil && !o.bodyless(resp) {
		o.sent += int64(len(resp.Body()))
	}
	return err
}

// writeRest writes to c, which was taken from net/http, what the response lacks after its head and
// the part of its body that was flushed.
func (o *outer) writeRest(c net.Conn, resp *gale.Response) error {
	w := io.Writer(c)
	if o.framing == inChunks {
		w = httputil.NewChunkedWriter(c)
	}
	err := error(nil)
	if resp.IsBodyStream() {
		err = o.writeStream(counted{o, w}, resp)
	} else {
		err = o.writeBytes(w, resp)
	}
	if err = cmp.Or(err, o.short()); err != nil {
		return err
	}
	if end := o.ending(resp); len(end) > 0 {
		_, err = c.Write(end)
	}
	return err
}

// ending returns what follows the last byte of the body: in chunks, the last one and the trailers.
func (o *outer) ending(resp *gale.Response) []byte {
	if o.framing != inChunks {
		return nil
	}
	return append([]byte("0\r\n"), resp.Header.TrailerHeader()...)
}

// closeDuplex reads what the handler has left of the request's body, after a response that was sent
// meanwhile. If that isn't possible, the connection ends: net/http would take a part that comes late
// for another request.
func (o *outer) closeDuplex(resp *gale.Response) {
	if !o.duplex || o.body.whole.Load() {
		return
	}
	_ = o.rc.Flush() // the client may wait for the response before it sends the rest
	o.body.closed.Store(true)
	if o.readBody() {
		return
	}
	if o.wrapped() {
		panic(http.ErrAbortHandler)
	}
	_ = o.rc.SetReadDeadline(clock.LongAgo)
	_ = o.r.Body.Close() // waits for a Read that still runs
	c, err := o.HijackNow(nil)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	end, until := o.ending(resp), o.writeDeadline()
	go hijacked(c, func(c net.Conn) {
		if c.SetWriteDeadline(until) != nil {
			return
		}
		if _, err := c.Write(end); err == nil {
			dismiss(c)
		}
	}, errorLog(o.r))
}

// hijacked calls h with c, and then closes c.
func hijacked(c net.Conn, h gale.HijackHandler, logf func(string, ...any)) {
	defer func() { _ = recover() }() // the log has panicked
	defer func() {
		if r := recover(); r != nil {
			logf("gale: panic in a HijackHandler: %v\n%s", r, debug.Stack())
		}
	}()
	defer c.Close()
	h(c)
}

// errorLog returns the function that writes to the log of r's net/http server.
func errorLog(r *http.Request) func(string, ...any) {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ErrorLog != nil {
		return s.ErrorLog.Printf
	}
	return log.Printf
}
