package ws

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/wsframe"
)

// request returns the text of the handshake's request (RFC 6455 section 4.1).
func (d *dial) request() ([]byte, error) {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails
	base64.StdEncoding.Encode(d.key[:], nonce[:])

	req := gale.AcquireRequest()
	defer gale.ReleaseRequest(req)
	h := &req.Header
	if d.o.Header != nil {
		d.o.Header.CopyTo(h)
	}
	h.SetMethod(gale.MethodGet)
	h.SetProtocol("HTTP/1.1")
	h.SetRequestURI(d.to.path)
	if len(h.Host()) == 0 {
		h.SetHost(d.to.field)
	}
	if err := d.addFields(h); err != nil {
		return nil, err
	}
	h.Set("Upgrade", "websocket")
	h.Set("Connection", "Upgrade")
	h.SetBytesV("Sec-WebSocket-Key", d.key[:])
	return h.AppendBytes(nil), nil
}

// addFields adds the fields that are the same in all versions of HTTP.
func (d *dial) addFields(h *gale.RequestHeader) error {
	for _, name := range []string{
		"Sec-WebSocket-Accept", "Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol", "Sec-WebSocket-Key",
		"Content-Length", "Transfer-Encoding", "Content-Type", "Upgrade", "Connection", "Trailer", "TE", "Expect",
	} {
		h.Del(name)
	}
	h.Set("Sec-WebSocket-Version", "13")
	if d.o.Origin != "" {
		h.Set("Origin", d.o.Origin)
	}
	if d.to.user != nil && len(h.Peek("Authorization")) == 0 {
		h.Set("Authorization", basicAuth(d.to.user))
	}
	if len(d.o.Subprotocols) > 0 {
		h.Set("Sec-WebSocket-Protocol", strings.Join(d.o.Subprotocols, ", "))
	}
	if c := d.set.compression; c != nil {
		h.SetBytesV("Sec-WebSocket-Extensions", c.offered().AppendOffer(nil))
	}
	return d.addCookies(h)
}

// addCookies adds the cookies of the jar whose names the request doesn't have.
func (d *dial) addCookies(h *gale.RequestHeader) error {
	if d.o.Jar == nil {
		return nil
	}
	uri := gale.AcquireURI()
	defer gale.ReleaseURI(uri)
	if err := uri.Parse(nil, []byte(d.to.asHTTP)); err != nil {
		return err
	}
	names := make(map[string]bool)
	for name := range h.Cookies() {
		names[string(name)] = true
	}
	for _, c := range d.o.Jar.Cookies(uri) {
		if name := string(c.Key()); !names[name] {
			names[name] = true
			h.SetCookieBytesKV(c.Key(), c.Value())
		}
	}
	return nil
}

// keepCookies gives the jar the cookies of the response.
func (d *dial) keepCookies() {
	if d.o.Jar == nil {
		return
	}
	uri := gale.AcquireURI()
	defer gale.ReleaseURI(uri)
	if uri.Parse(nil, []byte(d.to.asHTTP)) != nil {
		return
	}
	door.KeepCookies(d.o.Jar, uri, &d.resp.Header)
}

// check checks the answer over HTTP/1.1 (RFC 6455 section 4.1).
func (d *dial) check() (*params, error) {
	h := &d.resp.Header
	if status := h.StatusCode(); status != gale.StatusSwitchingProtocols {
		return nil, &HandshakeError{StatusCode: status}
	}
	switch {
	case string(h.Protocol()) != "HTTP/1.1":
		return nil, d.wrong("it isn't HTTP/1.1")
	case !only(h.PeekAll("Upgrade"), func(v []byte) bool { return bytes.EqualFold(v, []byte("websocket")) }):
		return nil, d.wrong("its header Upgrade isn't websocket")
	case !bytesconv.HasElement(h.PeekAll("Connection"), "upgrade"):
		return nil, d.wrong("its header Connection doesn't have Upgrade")
	case !only(h.PeekAll("Sec-WebSocket-Accept"), func(v []byte) bool { return bytes.Equal(v, wsframe.AppendAccept(nil, d.key[:])) }):
		return nil, d.wrong("its header Sec-WebSocket-Accept doesn't match the request")
	}
	return d.agreed()
}

// only reports whether a field has one value, and it is good.
func only(values [][]byte, good func(v []byte) bool) bool { return len(values) == 1 && good(values[0]) }

// agreed checks which subprotocol and extensions the server has chosen.
func (d *dial) agreed() (*params, error) {
	h := &d.resp.Header
	p := &params{settings: d.set}
	if list := h.PeekAll("Sec-WebSocket-Protocol"); len(list) > 0 {
		p.subprotocol = string(list[0])
		known := false
		for _, name := range d.o.Subprotocols {
			known = known || name == p.subprotocol
		}
		if len(list) > 1 || !known {
			return nil, d.wrong("it has a subprotocol that wasn't offered")
		}
	}
	values := h.PeekAll("Sec-WebSocket-Extensions")
	switch c := d.set.compression; {
	case len(values) == 0:
	case c == nil:
		return nil, d.wrong("it has an extension that wasn't offered")
	default:
		var err error
		if p.deflate, err = c.offered().Accept(values); err != nil {
			return nil, d.wrong("it has an extension, or a parameter of one, that wasn't offered")
		}
	}
	return p, nil
}

func (d *dial) wrong(reason string) error {
	return &HandshakeError{StatusCode: d.resp.StatusCode(), Reason: reason}
}
