package main

import (
	"context"
	"errors"
	"io"

	"github.com/galehttp/gale"
)

// exchange is a request that is passed on, with its response. It is the body of
// the response to the client, too: reading it reads from the server, closing it
// ends the exchange.
type exchange struct {
	client *gale.RequestCtx
	req    *gale.Request
	resp   *gale.Response
	ctx    context.Context
	cancel context.CancelFunc
	unhook func() bool

	named     [][]byte // what Connection of the request names
	respNamed [][]byte // what Connection of the response names
	bodyErr   error    // of reading the body of the request
}

// newExchange returns an exchange for the request in client.
func newExchange(client *gale.RequestCtx) *exchange {
	x := &exchange{client: client, req: gale.AcquireRequest(), resp: gale.AcquireResponse()}
	x.ctx, x.cancel = context.WithTimeout(context.Background(), exchangeTimeout)
	// The response isn't needed when the client has gone. When this server
	// shuts down, the client's context ends too, but requests go on.
	gone := client.Context()
	x.unhook = context.AfterFunc(gone, func() {
		if errors.Is(context.Cause(gone), gale.ErrClientGone) {
			x.cancel()
		}
	})
	return x
}

// setRequest makes the request for the server.
func (x *exchange) setRequest(trustForwarded bool) {
	from, to := &x.client.Request.Header, &x.req.Header
	from.CopyTo(to)
	if target := from.RequestURI(); len(target) > 0 && target[0] != '/' && string(target) != "*" {
		to.SetRequestURIBytes(x.client.URI().RequestURI()) // it came with a scheme and a host
	}
	x.named = removeHopByHop(to)
	to.Del("Expect") // the client is told to go on by this server
	setForwarded(x.client, to, trustForwarded)
	to.Add("Via", "1.1 gale-proxy") // RFC 9110 section 7.6.3

	// The length says how the body is framed: -1 is chunked, 0 no body.
	if n := from.ContentLength(); n > 0 || n == -1 {
		x.req.SetBodyStream(&requestBody{x, x.client.RequestBodyStream()}, n)
	}
}

// requestBody is the body of the request on its way to the server.
type requestBody struct {
	x    *exchange
	from io.Reader
}

// Read reads from the client. Behind the end are the trailer fields.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	switch err {
	case nil:
	case io.EOF:
		passTrailers(&b.x.req.Header, b.x.named, b.x.client.Trailers())
	default:
		b.x.bodyErr = err
	}
	return n, err
}

// setResponse makes the response for the client. The exchange ends when its body
// was sent, or at once if there is none.
func (x *exchange) setResponse() {
	to := &x.client.Response
	x.respNamed = removeHopByHop(&x.resp.Header)
	x.resp.Header.CopyTo(&to.Header)
	to.Header.Add("Via", "1.1 gale-proxy")
	if x.client.IsHead() {
		to.SkipBody = true // the length is that of the body that GET would get
		x.Close()
		return
	}
	if x.resp.IsBodyStream() {
		to.SetBodyStream(x, max(x.resp.Header.ContentLength(), -1))
		return
	}
	to.SetBody(x.resp.Body())
	x.Close()
}

// Read reads the body of the response. Behind its end are the trailer fields.
func (x *exchange) Read(p []byte) (int, error) {
	n, err := x.resp.BodyStream().Read(p)
	if err == io.EOF {
		passTrailers(&x.client.Response.Header, x.respNamed, func(yield func(name, value []byte) bool) {
			for name := range x.resp.Header.Trailers() {
				for _, value := range x.resp.Header.PeekAll(string(name)) {
					if !yield(name, value) {
						return
					}
				}
			}
		})
	}
	return n, err
}

// Close ends the exchange. If the body was not read to its end, that costs the
// connection to the server.
func (x *exchange) Close() error {
	if x.req == nil {
		return nil
	}
	x.unhook()
	err := x.resp.CloseBodyStream()
	x.cancel()
	gale.ReleaseRequest(x.req)
	gale.ReleaseResponse(x.resp)
	x.req, x.resp = nil, nil
	return err
}
