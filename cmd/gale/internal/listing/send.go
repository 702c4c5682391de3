package listing

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"sync/atomic"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/static"
)

const (
	htmlType = "text/html; charset=utf-8"
	jsonType = "application/json"
	textType = "text/plain; charset=utf-8"
)

const (
	// minCompressed is the size in bytes from which compression is worth it.
	minCompressed = 512
	// largeAnswer is the size in bytes from which an answer counts as large, and maxUnsent
	// the size of all large answers that clients haven't taken yet: a client that asks for
	// long listings and doesn't read them must not use up the memory.
	largeAnswer = 256 << 10
	maxUnsent   = 256 << 20
)

// prefersJSON reports whether the client wants JSON rather than HTML (RFC 9110 section
// 12.5.1).
func prefersJSON(ctx *gale.RequestCtx) bool {
	accept := ctx.Request.Header.PeekAll(gale.HeaderAccept)
	return head.AcceptWeight(accept, "application/json") > head.AcceptWeight(accept, "text/html")
}

// send answers with a listing, whose other fields are set: with an entity tag of the
// content, as 304 if the client has it, and compressed if the client accepts that.
func (p *Pages) send(ctx *gale.RequestCtx, body []byte) {
	h := &ctx.Response.Header
	sum := sha256.Sum256(body)
	// The tag is weak because it is the same for all codings.
	tag := append(hex.AppendEncode([]byte(`W/"`), sum[:12]), '"')
	h.SetBytesV(gale.HeaderETag, tag)
	if p.Compress {
		addVary(ctx, "Accept-Encoding")
	}
	c := static.Conditions{IfNoneMatch: ctx.Request.Header.PeekAll(gale.HeaderIfNoneMatch), ReadOnly: true}
	if c.Evaluate(static.Validators{ETag: tag}) == static.NotModified {
		h.Del(gale.HeaderContentSecurityPolicy) // the page that the client has came with its own
		ctx.SetStatusCode(gale.StatusNotModified)
		return
	}
	if p.Compress {
		body = compressed(ctx, body)
	}
	if len(body) < largeAnswer {
		ctx.Response.SetBodyRaw(body)
		return
	}
	if p.unsent.Add(int64(len(body))) > maxUnsent {
		p.unsent.Add(-int64(len(body)))
		h.Del(gale.HeaderETag)
		h.Del(gale.HeaderContentEncoding)
		h.Set(gale.HeaderRetryAfter, "1")
		ErrorPage(ctx, gale.StatusServiceUnavailable, "Too many long listings are being sent. Try again.")
		return
	}
	ctx.SetBodyStream(&largeBody{Reader: bytes.NewReader(body), unsent: &p.unsent, size: int64(len(body))}, len(body))
}

// largeBody counts an answer until it is sent or given up.
type largeBody struct {
	*bytes.Reader
	unsent *atomic.Int64
	size   int64
}

func (b *largeBody) Close() error {
	b.unsent.Add(-b.size)
	b.size = 0
	return nil
}

// compressed returns body in the coding that the client prefers (RFC 9110 section 12.5.3),
// and names the coding in the response. The levels are fast ones: each answer is made for
// one request.
func compressed(ctx *gale.RequestCtx, body []byte) []byte {
	coding, required := compress.Negotiate(ctx.Request.Header.PeekAll(gale.HeaderAcceptEncoding), compress.Zstd, compress.Brotli, compress.Gzip)
	if coding == compress.Identity || len(body) < minCompressed && !required {
		return body
	}
	level := 1
	if coding == compress.Brotli {
		level = 2
	}
	ctx.Response.Header.SetContentEncoding(coding.String())
	return compress.Append(make([]byte, 0, len(body)/8), body, coding, level)
}

// addVary adds a field name to Vary unless it is there.
func addVary(ctx *gale.RequestCtx, name string) {
	h := &ctx.Response.Header
	lines := h.PeekAll(gale.HeaderVary)
	if bytesconv.HasElement(lines, name) {
		return
	}
	if old := bytes.Join(lines, []byte(", ")); len(old) > 0 {
		name = string(old) + ", " + name
	}
	h.Set(gale.HeaderVary, name)
}
