package galetest

import (
	"bytes"
	"cmp"
	"context"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// RemoteAddr is the client's address in contexts that NewContext makes. It is one of the
// addresses reserved for documentation (RFC 5737).
var RemoteAddr net.Addr = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1234}

// NewRequest returns a request for target, which is a path or a whole URL, to send or to
// pass to a handler. body is copied; nil means no body. The result belongs to the caller.
func NewRequest(method, target string, body []byte) *gale.Request {
	req := new(gale.Request)
	req.Header.SetMethod(method)
	req.SetRequestURI(target)
	if body != nil {
		req.SetBody(body)
	}
	return req
}

// NewContext returns a context as a handler gets it for a request. The caller may change
// it further before the call of the handler. If target has no host, the host is
// "example.com". The client's address is RemoteAddr. The result belongs to the caller.
func NewContext(method, target string, body []byte) *gale.RequestCtx {
	return NewContextOf(NewRequest(method, target, body))
}

// NewContextOf is NewContext for a request, which is copied. The result belongs to the
// caller.
func NewContextOf(req *gale.Request) *gale.RequestCtx {
	ctx := new(gale.RequestCtx)
	r := &recorder{}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	ctx.Init2(recorderConn{r}, nil, false)
	req.CopyTo(&ctx.Request)
	h := &ctx.Request.Header
	scheme, host, path := splitTarget(string(h.RequestURI()))
	if host == "" {
		host = "example.com"
	}
	if scheme != "" {
		h.SetHost(host)
		ctx.Request.SetRequestURI(path)
	} else if len(h.Host()) == 0 {
		h.SetHost(host)
	}
	if scheme == "https" {
		ctx.Request.URI().SetScheme(scheme)
	}
	receive(ctx)
	return ctx
}

// receive makes the head say how long the body is, as it does when a server has received the request
// (RFC 9110 section 8.6).
func receive(ctx *gale.RequestCtx) {
	h := &ctx.Request.Header
	switch {
	case ctx.Request.IsBodyStream():
	case len(ctx.Request.Body()) > 0, h.IsPost(), h.IsPut(), h.IsPatch():
		h.SetContentLength(len(ctx.Request.Body()))
	default:
		door.Of(ctx).Bodiless()
	}
}

// splitTarget splits a whole URL into its parts. Any other target is a path.
func splitTarget(target string) (scheme, host, path string) {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		return "", "", target
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		return scheme, rest, "/"
	}
	host, path = rest[:end], rest[end:]
	if path[0] != '/' {
		path = "/" + path
	}
	return scheme, host, path
}

// Result is the result of calling a handler.
type Result struct {
	// Response is the response. Its body is in memory, even if it was a stream or was
	// sent by Flush, or is not sent because of the method or the status.
	Response *gale.Response
	// Interim are the informational responses (1xx) before it.
	Interim []*gale.Response
	// Flushes is how often the handler sent a part with Flush.
	Flushes int
	// Hijacked is set if the handler called Hijack or Upgrade, and the response grants it.
	// The HijackHandler isn't called.
	Hijacked bool
	// Err is the error of reading the body if it is a stream, an error if the body isn't as
	// long as its head says, or gale.ErrAbortHandler if a server would abort the
	// response for another reason.
	Err error
}

// Record calls handler with ctx, which NewContext made, and returns what a client would
// get. If the handler panics, Record panics too. The result belongs to the caller.
//
// Flush, EarlyHints, SendInterim, streams and TimeoutHandler work; Done is closed when
// the handler has returned. There is no Server, so no settings of a server apply, and the
// response gets no Date and Server headers.
func Record(handler gale.RequestHandler, ctx *gale.RequestCtx) *Result {
	r := &recorder{cancel: func(error) {}} // used if ctx has no recorder: Flush fails then
	if c, ok := ctx.Conn().(recorderConn); ok {
		r = c.r
	}
	var of door.HijackOf // made before the program may own the request
	if ctx.Request.Header.IsConnect() {
		of = door.HijackTunnel
	}
	if ctx.Request.Header.ConnectionClose() {
		of |= door.HijackCloses
	}
	r.isHead = ctx.IsHead()
	handler(ctx)
	late := ctx.LastTimeoutErrorResponse() != nil // and the handler still uses ctx
	serving := door.Of(ctx)
	chosen, hijack := serving.Choose(of)
	resp, _ := chosen.(*gale.Response)
	if resp != nil && hijack.Handler == nil && (resp.StatusCode() < 200 || resp.StatusCode() > 999) {
		resp.SetStatusCode(gale.StatusInternalServerError) // as a Server does
	}
	result := r.finish(resp)
	serving.End(door.Ending{Sent: int64(len(result.Response.Body())), Err: result.Err, Late: late, Kept: true})
	r.cancel(gale.ErrRequestDone)
	result.Hijacked = hijack.Handler != nil
	return result
}

// recorder is the exchange of a context for Record: it gets what a handler sends while it
// runs. A handler that timed out may still call it after Record has returned.
type recorder struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	isHead bool // the request is a HEAD

	mu   sync.Mutex
	res  Result
	over bool
	due  head.Promised // what is left of the body, as its head says
	err  error         // why the response isn't complete
}

// finish returns the result. resp is the rest of the response, nil if the response is
// aborted.
func (r *recorder) finish(resp *gale.Response) *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if resp == nil {
		if r.res.Response == nil {
			r.res.Response = new(gale.Response)
		}
		r.res.Err = gale.ErrAbortHandler
		res := r.res
		return &res
	}
	var rest bytes.Buffer
	streams, flushed := resp.IsBodyStream(), r.res.Flushes > 0
	if streams {
		r.res.Err = resp.BodyWriteTo(&rest)
	} else {
		rest.Write(resp.Body())
	}
	if !flushed {
		r.due.Left = -1
		if streams {
			r.promise(resp)
		}
		r.res.Response = new(gale.Response)
		resp.CopyTo(r.res.Response)
		r.res.Response.ResetBody()
	}
	if streams {
		r.add(rest.Bytes())
	} else {
		r.addPart(rest.Bytes())
	}
	if flushed {
		r.addTrailers(&resp.Header)
	}
	if r.err == nil && r.res.Err == nil && r.due.Left > 0 {
		r.err = door.ErrBodyTooShort
	}
	r.res.Err = cmp.Or(r.err, r.res.Err)
	res := r.res
	return &res
}

// promise stores how long the head of resp says that the body is.
func (r *recorder) promise(resp *gale.Response) {
	r.due.Left = -1
	if n := door.ContentLength(&resp.Header); n > 0 && !resp.SkipBody && !r.isHead && resp.StatusCode() != gale.StatusNotModified {
		r.due.Left = n
	}
}

// addTrailers adds the trailer section of a response that was flushed.
func (r *recorder) addTrailers(h *gale.ResponseHeader) {
	for line := range bytes.SplitSeq(h.TrailerHeader(), []byte("\r\n")) {
		if name, value, ok := bytes.Cut(line, []byte(": ")); ok {
			_ = r.res.Response.Header.AddTrailerValue(string(name), string(value))
		}
	}
}

// Flush records the part of the response that there is.
func (r *recorder) Flush(ctx *gale.RequestCtx) error {
	resp := &ctx.Response
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.res.Hijacked {
		return gale.ErrNilConnection
	}
	if r.res.Flushes == 0 {
		r.res.Response = new(gale.Response)
		resp.Header.CopyTo(&r.res.Response.Header)
		r.promise(resp)
	}
	r.res.Flushes++
	r.addPart(resp.Body())
	resp.ResetBody()
	return r.err
}

// addPart adds a part of the body that is in memory, and nothing of it if it goes beyond the length
// that the head says: then a server breaks the response off.
func (r *recorder) addPart(b []byte) {
	if r.err == nil && r.due.Exceeds(b) {
		r.err = door.ErrBodyTooLong
	}
	r.add(b)
}

// add adds a piece of the body to a response that was flushed, as far as the head says.
func (r *recorder) add(b []byte) {
	if r.err != nil {
		return
	}
	_, _ = r.due.Pass(b, func(b []byte) (int, error) {
		r.res.Response.AppendBody(b)
		return len(b), nil
	}, nil)
}

// SendInterim records an informational response.
func (r *recorder) SendInterim(_ *gale.RequestCtx, statusCode int, h *gale.ResponseHeader) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.res.Flushes > 0 {
		return gale.ErrNilConnection
	}
	resp := new(gale.Response)
	if h != nil {
		h.CopyTo(&resp.Header)
	}
	resp.SetStatusCode(statusCode)
	r.res.Interim = append(r.res.Interim, resp)
	return nil
}

// A handler can only ask for the address of the connection.
func (r *recorder) Conn() net.Conn                               { return recorderConn{r} }
func (r *recorder) LocalAddr() net.Addr                          { return nil }
func (r *recorder) RemoteAddr() net.Addr                         { return RemoteAddr }
func (r *recorder) Opened() (uint64, time.Time)                  { return 0, time.Time{} }
func (r *recorder) Context() context.Context                     { return r.ctx }
func (r *recorder) SetReadDeadline(time.Time) error              { return nil }
func (r *recorder) SetWriteDeadline(time.Time) error             { return nil }
func (r *recorder) HijackNow(*gale.RequestCtx) (net.Conn, error) { return nil, gale.ErrNilConnection }

// There is nothing to watch or to limit: Context ends the request, which holds its body
// and trailers.
func (r *recorder) Watch(door.Done) (stop func(), over error) { return nil, nil }
func (r *recorder) Lend()                                     {}
func (r *recorder) LimitBody(*gale.RequestCtx, int64)         {}
func (r *recorder) CloseBody(*gale.RequestCtx, bool)          {}
func (r *recorder) Reading() bool                             { return false }
func (r *recorder) Hands() door.Hands                         { return door.HandsConn }
func (r *recorder) Trailers(*msg.Fields)                      {}
func (r *recorder) Interrupt()                                {}

// recorderConn is the connection that gives a recorder to a context.
type recorderConn struct{ r *recorder }

func (c recorderConn) Exchange(door.Seal) any         { return c.r }
func (recorderConn) Read([]byte) (int, error)         { return 0, net.ErrClosed }
func (recorderConn) Write([]byte) (int, error)        { return 0, net.ErrClosed }
func (recorderConn) Close() error                     { return nil }
func (recorderConn) LocalAddr() net.Addr              { return nil }
func (recorderConn) RemoteAddr() net.Addr             { return RemoteAddr }
func (recorderConn) SetDeadline(time.Time) error      { return nil }
func (recorderConn) SetReadDeadline(time.Time) error  { return nil }
func (recorderConn) SetWriteDeadline(time.Time) error { return nil }
