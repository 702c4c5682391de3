package ws

import (
	"bytes"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/wsframe"
)

// refusal says why a handshake was refused. Its text goes to the client.
type refusal struct {
	status int
	text   string
}

// Error returns the text with the prefix "ws: ".
func (r *refusal) Error() string { return "ws: " + r.text }

var (
	errMethod     = &refusal{gale.StatusMethodNotAllowed, "a WebSocket handshake must be a GET request"}
	errHTTP10     = &refusal{gale.StatusBadRequest, "a WebSocket handshake needs HTTP/1.1"}
	errHTTP2      = &refusal{gale.StatusBadRequest, "a WebSocket handshake over HTTP/2 must be an extended CONNECT request"}
	errHost       = &refusal{gale.StatusBadRequest, "a WebSocket handshake must have one Host header"}
	errUpgrade    = &refusal{gale.StatusUpgradeRequired, "this resource is a WebSocket: the request must have the header Upgrade: websocket"}
	errConnection = &refusal{gale.StatusBadRequest, "a WebSocket handshake must have the header Connection: Upgrade"}
	errBody       = &refusal{gale.StatusBadRequest, "a WebSocket handshake must not have a body"}
	errVersion    = &refusal{gale.StatusUpgradeRequired, "the only supported Sec-WebSocket-Version is 13"}
	errKey        = &refusal{gale.StatusBadRequest, "a WebSocket handshake must have one Sec-WebSocket-Key of 16 bytes in base64"}
	errExtensions = &refusal{gale.StatusBadRequest, "the header Sec-WebSocket-Extensions is malformed"}
	errOrigin     = &refusal{gale.StatusForbidden, "pages of this origin may not open a WebSocket here"}
)

// shook is the result of a handshake.
type shook struct {
	set         *settings
	subprotocol string          // "" if none was chosen
	deflate     wsframe.Deflate // On is false without compression
}

// handshake checks a request against RFC 6455 section 4.2, or RFC 8441 section 5 over
// HTTP/2, and sets the response. With an error, the response is an error page, and the
// error says what is wrong with the request.
func handshake(ctx *gale.RequestCtx, o *Options) (shook, error) {
	sh := &o.shared
	s := shook{set: o.settings()}
	http2 := connectProtocol(ctx) == "websocket"
	r := check(ctx, http2)
	if r == nil && !o.allowsOrigin(ctx) {
		r = errOrigin
	}
	if r != nil {
		sh.stats.refused.Add(1)
		refuse(ctx, r)
		return shook{}, r
	}
	h := &ctx.Request.Header
	s.subprotocol = subprotocol(h.PeekAll("Sec-WebSocket-Protocol"), o.Subprotocols)
	if c := s.set.compression; c != nil {
		s.deflate = c.negotiated().Negotiate(h.PeekAll("Sec-WebSocket-Extensions"))
	}
	s.answer(ctx, http2)
	return s, nil
}

// check returns what is wrong with the request, or nil.
func check(ctx *gale.RequestCtx, http2 bool) *refusal {
	h := &ctx.Request.Header
	if !http2 {
		if r := checkHTTP1(ctx); r != nil {
			return r
		}
	}
	if v := h.PeekAll("Sec-WebSocket-Version"); len(v) != 1 || string(v[0]) != "13" {
		return errVersion
	}
	if !wsframe.ValidExtensions(h.PeekAll("Sec-WebSocket-Extensions")) {
		return errExtensions
	}
	if http2 {
		return nil
	}
	if v := h.PeekAll("Sec-WebSocket-Key"); len(v) != 1 || !wsframe.ValidKey(v[0]) {
		return errKey
	}
	return nil
}

// checkHTTP1 checks what RFC 6455 section 4.2.1 wants of all upgrades of HTTP/1.1.
func checkHTTP1(ctx *gale.RequestCtx) *refusal {
	h := &ctx.Request.Header
	switch {
	case string(h.Protocol()) == "HTTP/2.0":
		return errHTTP2
	case !h.IsGet():
		return errMethod
	case !h.IsHTTP11():
		return errHTTP10
	case len(h.Host()) == 0:
		return errHost
	case !bytesconv.HasElement(h.PeekAll("Upgrade"), "websocket"):
		return errUpgrade
	case !bytesconv.HasElement(h.PeekAll("Connection"), "upgrade"):
		return errConnection
	case h.ContentLength() > 0 || h.ContentLength() == -1:
		return errBody
	}
	return nil
}

// refuse sets the response to a request that isn't a good handshake.
func refuse(ctx *gale.RequestCtx, r *refusal) {
	ctx.Fail(r.status, r)
	h := &ctx.Response.Header
	switch r {
	case errMethod:
		h.Set("Allow", "GET")
	case errUpgrade, errVersion: // RFC 9110 section 15.5.22, RFC 6455 section 4.4
		h.Set("Sec-WebSocket-Version", "13")
		if string(ctx.Request.Header.Protocol()) == "HTTP/1.1" {
			h.Set("Upgrade", "websocket")
			h.Set("Connection", "Upgrade")
		}
	}
}

// answer sets the response that opens the WebSocket.
func (s *shook) answer(ctx *gale.RequestCtx, http2 bool) {
	ctx.Response.ResetBody()
	h := &ctx.Response.Header
	h.SetNoDefaultContentType(true)
	h.Del("Content-Type")
	h.Del("Content-Encoding")
	var room [128]byte
	if http2 {
		ctx.SetStatusCode(gale.StatusOK)
	} else {
		ctx.SetStatusCode(gale.StatusSwitchingProtocols)
		h.ResetConnectionClose()
		h.Set("Upgrade", "websocket")
		h.Set("Connection", "Upgrade")
		h.SetBytesV("Sec-WebSocket-Accept", wsframe.AppendAccept(room[:0], ctx.Request.Header.Peek("Sec-WebSocket-Key")))
	}
	h.Del("Sec-WebSocket-Protocol")
	if s.subprotocol != "" {
		h.Set("Sec-WebSocket-Protocol", s.subprotocol)
	}
	h.Del("Sec-WebSocket-Extensions")
	if s.deflate.On {
		h.SetBytesV("Sec-WebSocket-Extensions", s.deflate.AppendResponse(room[:0]))
	}
}

// subprotocol returns the first of known that the client offers, or "". Names are
// compared case-sensitively (RFC 6455 section 4.2.2).
func subprotocol(offers [][]byte, known []string) string {
	if len(offers) == 0 {
		return ""
	}
	for _, name := range known {
		for offer := range bytesconv.Elements(offers) {
			if string(offer) == name && isToken(name) {
				return name
			}
		}
	}
	return ""
}

// isToken reports whether s is a token (RFC 9110 section 5.6.2).
func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c <= ' ' || c >= 0x7f || bytes.IndexByte([]byte(`"(),/:;<=>?@[\]{}`), c) >= 0 {
			return false
		}
	}
	return s != ""
}

// connectProtocol returns the value of :protocol in an extended CONNECT request (RFC 8441
// section 4), and "" for other requests.
func connectProtocol(ctx *gale.RequestCtx) string { return ctx.ConnectProtocol() }
