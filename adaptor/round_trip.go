package adaptor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// NewRoundTripper returns an http.RoundTripper that sends requests with a client of Gale:
// a *gale.Client, or a *gale.HostClient for the requests of one server. It is for
// http.Client.Transport, and for libraries that take an *http.Client.
//
// Bodies are streamed in both directions, and trailers are sent and received. The context
// of the request ends the exchange, also while the body of the response is read. That body
// must be closed, as with any http.RoundTripper. Over HTTP/2 the response may come before
// the body of the request has ended. Then the trailers of the request have the values that
// they had at that time.
//
// The response has the fields that came, and no others. A request without User-Agent gets the
// client's; if the field is there and empty, none is sent, as by a client of net/http. A request
// without a body has "Content-Length: 0" unless its method is GET or HEAD; net/http sends that only
// for POST, PUT and PATCH. ContentLength of a 304 is what its Content-Length says, where net/http
// has 0.
//
// The settings of the client apply, except StreamResponseBody, which is always on.
// Response.TLS is nil, package httptrace is not supported, and a response with status 101
// is an error.
//
// It may be used by several goroutines. Its CloseIdleConnections calls that of the client.
func NewRoundTripper(client interface {
	DoContext(ctx context.Context, req *gale.Request, resp *gale.Response) error
}) http.RoundTripper {
	return &roundTripper{client}
}

type roundTripper struct {
	client interface {
		DoContext(ctx context.Context, req *gale.Request, resp *gale.Response) error
	}
}

// CloseIdleConnections closes the idle connections of the client, for http.Client.
func (t *roundTripper) CloseIdleConnections() {
	if c, ok := t.client.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

var (
	errNoURL    = errors.New("adaptor: the request has no URL with a scheme and a host")
	errSwitched = errors.New("adaptor: the server has switched protocols, which RoundTrip doesn't support")
)

// RoundTrip implements http.RoundTripper.
func (t *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL == nil || r.URL.Host == "" || r.URL.Scheme == "" {
		closeBody(r)
		return nil, errNoURL
	}
	// Neither is used again: the client may still be sending the body when the caller has
	// read the whole response.
	req, resp := new(gale.Request), new(gale.Response)
	sent := r
	if hasContent(r) {
		sent = r.WithContext(r.Context()) // r must not be changed
		sent.Body = &sentBody{ReadCloser: r.Body}
	}
	convertRequest(sent, req, true)
	setTarget(r, req)
	resp.StreamBody = true
	if err := t.client.DoContext(r.Context(), req, resp); err != nil {
		closeBody(sent)
		return nil, err
	}
	if resp.StatusCode() == http.StatusSwitchingProtocols {
		_ = resp.CloseBodyStream()
		return nil, errSwitched
	}
	return convertResponse(r, resp), nil
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// sentBody is the body of a request. It is closed once.
type sentBody struct {
	io.ReadCloser
	closed atomic.Bool
}

func (b *sentBody) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	return b.ReadCloser.Close()
}

// setTarget sets the whole URL, since clients need its scheme and host. r.Host may be
// another host than the one to connect to.
func setTarget(r *http.Request, req *gale.Request) {
	u := *r.URL
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	req.SetRequestURI(u.String())
	req.URI().DisablePathNormalizing = true
	if r.Host != "" && r.Host != u.Host {
		req.UseHostHeader = true
		req.Header.SetHost(r.Host)
	}
}

// convertResponse returns the response of which resp has the head.
func convertResponse(r *http.Request, resp *gale.Response) *http.Response {
	h := &resp.Header
	status, length := resp.StatusCode(), door.ContentLength(h)
	out := &http.Response{
		Status:        strconv.Itoa(status) + " " + reason(h, status),
		StatusCode:    status,
		Header:        make(http.Header),
		ContentLength: max(length, -1),
		Close:         resp.ConnectionClose(),
		Request:       r,
	}
	out.Proto = string(h.Protocol())
	if out.ProtoMajor, out.ProtoMinor = 1, 1; out.Proto == "" {
		out.Proto = "HTTP/1.1"
	} else if major, minor, ok := http.ParseHTTPVersion(out.Proto); ok {
		out.ProtoMajor, out.ProtoMinor = major, minor
	}
	addReceived(out.Header, h)
	for name := range h.Trailers() {
		if out.Trailer == nil {
			out.Trailer = make(http.Header)
		}
		out.Trailer[http.CanonicalHeaderKey(string(name))] = nil
	}
	if length == -1 && out.ProtoMajor == 1 {
		out.TransferEncoding = []string{"chunked"}
	}
	switch stream := resp.BodyStream(); {
	case r.Method == http.MethodHead || stream == nil && len(resp.Body()) == 0:
		_ = resp.CloseBodyStream()
		out.Body, out.TransferEncoding = http.NoBody, nil
		if r.Method != http.MethodHead && status != http.StatusNotModified {
			out.ContentLength = 0
		}
	case stream == nil:
		out.Body = io.NopCloser(bytes.NewReader(resp.Body()))
	default:
		out.Body = &receivedBody{stream: stream, resp: resp, out: out}
	}
	return out
}

// addReceived adds the fields of h to out, without those that have a default or say how the body
// ends. All of ResponseHeader has these, and leaves out some that are empty.
func addReceived(out http.Header, h *gale.ResponseHeader) {
	const framing uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding | 1<<msg.Trailer
	add := func(name, value []byte) bool {
		out.Add(string(name), string(value))
		return true
	}
	hd := door.HeadIn(h).(*head.Response)
	hd.Visit(framing, hd.Spelling, add)
	for _, id := range []msg.ID{msg.Server, msg.ContentType} {
		if v := hd.Slot(id); v != nil { // it was set: the client isn't one of Gale
			add(id.Name(), v)
		}
	}
	if v := h.Peek("Content-Length"); len(v) > 0 {
		add(msg.ContentLength.Name(), v)
	}
}

// reason returns the reason phrase.
func reason(h *gale.ResponseHeader, status int) string {
	if m := h.StatusMessage(); len(m) > 0 {
		return string(m)
	}
	return http.StatusText(status)
}

// receivedBody is the body of a response. One goroutine reads; any goroutine may close it.
type receivedBody struct {
	stream io.Reader
	resp   *gale.Response
	out    *http.Response
	atEnd  bool
}

// Read reads the body. At its end it adds the trailer fields to the response.
func (b *receivedBody) Read(p []byte) (int, error) {
	n, err := b.stream.Read(p)
	if err == io.EOF && !b.atEnd {
		b.atEnd = true
		b.takeTrailers()
	}
	return n, err
}

func (b *receivedBody) takeTrailers() {
	for line := range strings.SplitSeq(string(b.resp.Header.TrailerHeader()), "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			if b.out.Trailer == nil {
				b.out.Trailer = make(http.Header)
			}
			b.out.Trailer.Add(name, value)
		}
	}
}

// Close ends the exchange. What was not read is given up.
func (b *receivedBody) Close() error {
	if c, ok := b.stream.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
