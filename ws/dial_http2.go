package ws

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/galehttp/gale"
)

// open opens the WebSocket as a stream of HTTP/2 (RFC 8441 section 5). The error is
// gale.ErrNoExtendedConnect if the server doesn't support that.
func (d *dial) open(ctx context.Context) (*Conn, *gale.Response, error) {
	req := gale.AcquireRequest()
	defer gale.ReleaseRequest(req)
	if d.o.Header != nil {
		d.o.Header.CopyTo(&req.Header)
	}
	req.SetRequestURI(d.to.asHTTP)
	req.Header.SetMethod(gale.MethodConnect)
	req.SetConnectProtocol("websocket")
	if host := req.Header.Host(); len(host) > 0 && d.o.Header != nil {
		req.UseHostHeader = true
	}
	if err := d.addFields(&req.Header); err != nil {
		return nil, nil, err
	}
	resp := &d.resp
	resp.StreamBody = true
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	nc, err := d.openStream(ctx, req, resp)
	resp.StreamBody = false
	switch {
	case errors.Is(err, gale.ErrStreamRefused):
		d.keepBody(cancel)
		d.keepCookies()
		return nil, resp, &HandshakeError{StatusCode: resp.StatusCode()}
	case err != nil:
		return nil, nil, err
	}
	d.keepCookies()
	p, err := d.agreed()
	if err != nil {
		_ = nc.Close()
		return nil, resp, err
	}
	c := newConn(p, true)
	c.start(nc, nil)
	return c, resp, nil
}

// openStream sends the request and returns the stream.
func (d *dial) openStream(ctx context.Context, req *gale.Request, resp *gale.Response) (net.Conn, error) {
	if d.o.Client != nil {
		return d.o.Client.OpenStream(ctx, req, resp)
	}
	hc := &gale.HostClient{
		Addr:  d.to.addr,
		IsTLS: d.to.tls,
		HTTP2: d.o.HTTP2,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.connectPlain(ctx)
		},
		MaxConns: 1,
		// The connection ends soon after its only stream.
		MaxIdleConnDuration: time.Second,
	}
	if d.to.tls {
		hc.TLSConfig = d.tlsConfig(d.to.host)
		hc.TLSConfig.NextProtos = nil
	}
	return hc.OpenStream(ctx, req, resp)
}
