package gale

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"iter"
	"mime/multipart"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/msg"
)

// The methods in this file are about the request. The bytes that they return belong to it.

// URI returns the URI of the request. Its scheme comes from the connection, its host from
// the Host header, and the rest from the request-target. The URI is borrowed: it is valid
// until the handler returns.
func (ctx *RequestCtx) URI() *URI { return ctx.Request.URI() }

// RequestURI returns the request-target as it was received (RFC 9112 section 3.2). The
// bytes are borrowed: they are valid until ctx.Request changes or the handler returns.
func (ctx *RequestCtx) RequestURI() []byte { return ctx.Request.Header.RequestURI() }

// Path returns the path of the request, percent-decoded once and normalized: it begins
// with a slash and contains no `//`, `/./` or `/../`. In a request that
// adaptor.NewHTTPHandler or package router serves, %2F and %5C stay encoded. The bytes are borrowed: they
// are valid until ctx.Request changes or the handler returns.
//
// Handlers of net/http (package adaptor) and upstreams (package reverse) get the target
// byte for byte, unless the program has changed path, arguments or host of the URI: then they get
// what Path, QueryArgs and Host show, as a server does to which a client sends the request; see
// Request.URI. Both packages refuse targets that these might find below another prefix,
// so a check of a prefix counts for them, too. See the guide docs/guides/routing.md.
func (ctx *RequestCtx) Path() []byte { return ctx.URI().Path() }

// Host returns the host that the request is for, with the port if the request has one. The
// bytes are borrowed: they are valid until ctx.Request changes or the handler returns.
func (ctx *RequestCtx) Host() []byte { return ctx.URI().Host() }

// Method returns the method of the request. The bytes are borrowed: they are valid until
// ctx.Request changes or the handler returns.
func (ctx *RequestCtx) Method() []byte { return ctx.Request.Header.Method() }

// IsGet reports whether the method is GET.
func (ctx *RequestCtx) IsGet() bool { return ctx.Request.Header.IsGet() }

// IsHead reports whether the method is HEAD.
func (ctx *RequestCtx) IsHead() bool { return ctx.Request.Header.IsHead() }

// IsPost reports whether the method is POST.
func (ctx *RequestCtx) IsPost() bool { return ctx.Request.Header.IsPost() }

// IsPut reports whether the method is PUT.
func (ctx *RequestCtx) IsPut() bool { return ctx.Request.Header.IsPut() }

// IsDelete reports whether the method is DELETE.
func (ctx *RequestCtx) IsDelete() bool { return ctx.Request.Header.IsDelete() }

// IsConnect reports whether the method is CONNECT.
func (ctx *RequestCtx) IsConnect() bool { return ctx.Request.Header.IsConnect() }

// IsOptions reports whether the method is OPTIONS.
func (ctx *RequestCtx) IsOptions() bool { return ctx.Request.Header.IsOptions() }

// ConnectProtocol returns "websocket" for a request that opens a WebSocket over HTTP/2
// (RFC 8441), which has the method CONNECT; see HTTP2Config.WebSocket. For other requests it
// is empty, also for those that open a WebSocket over HTTP/1.1.
func (ctx *RequestCtx) ConnectProtocol() string { return ctx.Request.ConnectProtocol() }

// IsTrace reports whether the method is TRACE.
func (ctx *RequestCtx) IsTrace() bool { return ctx.Request.Header.IsTrace() }

// IsPatch reports whether the method is PATCH.
func (ctx *RequestCtx) IsPatch() bool { return ctx.Request.Header.IsPatch() }

// IsQuery reports whether the method is QUERY.
func (ctx *RequestCtx) IsQuery() bool { return ctx.Request.Header.IsQuery() }

// Referer returns the Referer header. The bytes are borrowed: they are valid until
// ctx.Request changes or the handler returns.
func (ctx *RequestCtx) Referer() []byte { return ctx.Request.Header.Referer() }

// UserAgent returns the User-Agent header. The bytes are borrowed: they are valid until
// ctx.Request changes or the handler returns.
func (ctx *RequestCtx) UserAgent() []byte { return ctx.Request.Header.UserAgent() }

// QueryArgs returns the arguments in the query of the URI. The Args is borrowed: it is
// valid until the handler returns.
func (ctx *RequestCtx) QueryArgs() *Args { return ctx.URI().QueryArgs() }

// PostArgs returns the arguments of a form in the body. It is empty unless the media type
// is application/x-www-form-urlencoded. The Args is borrowed: it is valid until the
// handler returns.
func (ctx *RequestCtx) PostArgs() *Args { return ctx.Request.PostArgs() }

// PostBody returns the body of the request, whatever its method. A streamed body is read
// to its end first. If that fails, PostBody returns nothing; see Request.Body. The bytes
// are borrowed: they are valid until ctx.Request changes or the handler returns.
func (ctx *RequestCtx) PostBody() []byte { return ctx.Request.Body() }

// RequestBodyStream returns the body of the request as a stream, or nil if the body is not
// streamed (see Server.StreamRequestBody). Its Read blocks until the client has sent more.
// The stream is borrowed: it is valid until the handler returns. Later reads return an error
// that wraps ErrRequestDone. They never read bytes of another request.
//
// One goroutine may read the stream while another one makes and sends the response with
// Write, Flush, SendInterim and the setters of Response. A Read that reaches the end of
// the body stores the trailers in Request.Header. So while a goroutine reads, other
// goroutines must not change Request.Header, ask it for trailers, give the request to a
// client, or call BeforeSend or Detach, which copy it; with Server.MergeTrailers they must not use it at all.
//
// When a byte of the stream was read, the request can't be handed on any more: clients and
// Request.Write return an error, package reverse answers 500, and reads of a net/http handler
// (package adaptor) fail. To hand it on, set its body with Request.SetBodyStream, or read
// the body with PostBody, which keeps it.
func (ctx *RequestCtx) RequestBodyStream() io.Reader { return ctx.Request.BodyStream() }

// LimitRequestBody makes reading a streamed request body fail with ErrBodyTooLarge after
// n bytes. 0 or negative means no limit. It has no effect on a body that is not streamed.
func (ctx *RequestCtx) LimitRequestBody(n int64) {
	used(ctx.loan)
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if ctx.reach == running { // else nothing is read any more
		ctx.x.LimitBody(ctx, n)
	}
}

// CloseRequestBody ends the reading of a streamed body before the handler returns. A Read
// that runs in another goroutine fails at once, and so do later ones. It has no effect on
// a body that is not streamed.
func (ctx *RequestCtx) CloseRequestBody() {
	used(ctx.loan)
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if ctx.reach == running { // else it is closed
		ctx.x.CloseBody(ctx, false)
	}
}

// MultipartReader returns a reader for the parts of a multipart/form-data body. If the
// body is streamed, it reads parts as they arrive. Use either MultipartReader or
// MultipartForm, not both. The reader is borrowed: it is valid until the handler returns.
// See Request.MultipartReader for what it does then.
func (ctx *RequestCtx) MultipartReader() (*multipart.Reader, error) {
	return ctx.Request.MultipartReader()
}

// MultipartForm returns the form in a multipart/form-data body, or ErrNoMultipartForm.
// Uploaded files that were stored on disk are removed after the handler has returned. The
// form is borrowed: it is valid until the handler returns.
func (ctx *RequestCtx) MultipartForm() (*multipart.Form, error) { return ctx.Request.MultipartForm() }

// MultipartFormWithLimit is MultipartForm that reads at most maxBodySize bytes of the
// body. 0 or negative means that only the server's limit applies. The form is borrowed: it
// is valid until the handler returns.
func (ctx *RequestCtx) MultipartFormWithLimit(maxBodySize int) (*multipart.Form, error) {
	return ctx.Request.MultipartFormWithLimit(maxBodySize)
}

// FormFile returns the first file uploaded under key. The error is ErrMissingFile if there
// is none, or says why the form can't be read. The file is borrowed: it is valid until the
// handler returns.
func (ctx *RequestCtx) FormFile(key string) (*multipart.FileHeader, error) {
	mf, err := ctx.MultipartForm()
	if err != nil {
		return nil, err
	}
	if fhh := mf.File[key]; len(fhh) > 0 {
		return fhh[0], nil
	}
	return nil, ErrMissingFile
}

// FormValue returns the value of key in the query or, if it isn't there, in the body,
// which may be a urlencoded or a multipart form. It returns nil if neither has it.
// Server.FormValueFunc may replace this rule. The bytes are borrowed: they are valid until
// ctx.Request changes or the handler returns.
func (ctx *RequestCtx) FormValue(key string) []byte {
	if f := ctx.server().FormValueFunc; f != nil {
		return f(ctx, key)
	}
	if v := ctx.QueryArgs().Peek(key); len(v) > 0 {
		return v
	}
	if v := ctx.PostArgs().Peek(key); len(v) > 0 {
		return v
	}
	return ctx.multipartValue(key)
}

// multipartValue returns the first value of key in a multipart form.
func (ctx *RequestCtx) multipartValue(key string) []byte {
	mf, err := ctx.Request.multipartForm()
	if err != nil && !errors.Is(err, ErrNoMultipartForm) {
		return nil
	}
	if mf != nil {
		if vv := mf.Value[key]; len(vv) > 0 {
			return lifetime.Move(ctx.loan, []byte(vv[0]))
		}
	}
	return nil
}

// NetHttpFormValueFunc is a Server.FormValueFunc that looks where net/http's
// Request.FormValue does: in the body before the query.
var NetHttpFormValueFunc = func(ctx *RequestCtx, key string) []byte {
	if v := ctx.multipartValue(key); len(v) > 0 {
		return v
	}
	if v := ctx.PostArgs().Peek(key); len(v) > 0 {
		return v
	}
	return ctx.QueryArgs().Peek(key)
}

// Trailers returns an iterator over the names and values of the request's trailers (RFC
// 9110 section 6.5), whether the Trailer header declares them or not. Only chunked bodies
// and HTTP/2 have trailers. A streamed body must have been read to its end first. The
// bytes are borrowed: they are valid until ctx.Request changes or the handler returns.
func (ctx *RequestCtx) Trailers() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		f := ctx.receivedTrailers()
		for i := range f.Recs {
			if !yield(f.Name(i), f.Value(i)) {
				return
			}
		}
	}
}

// PeekTrailer returns the value of the request's first trailer called name (RFC 9110
// section 6.5), nil if there is none. A streamed body must have been read to its end
// first. The bytes are borrowed: they are valid until ctx.Request changes or the handler
// returns.
func (ctx *RequestCtx) PeekTrailer(name string) []byte {
	f := ctx.receivedTrailers()
	if i := f.FindName(bytesconv.S2B(name)); i >= 0 {
		return f.Value(i)
	}
	return nil
}

// receivedTrailers returns the trailer section of the request.
func (ctx *RequestCtx) receivedTrailers() *msg.Fields {
	if len(ctx.trailers.Recs) == 0 {
		ctx.bringer().Trailers(&ctx.trailers)
	}
	return &ctx.trailers
}

// takeTrailers is called at the end of a body with trailers. The header gets a copy of
// the trailer section, so that a proxy that sends the request on also sends the trailers.
// The header shows the fields only if merge is true (RFC 9110 section 6.5.1). The parser
// has refused fields that are forbidden in trailer sections.
func (ctx *RequestCtx) takeTrailers(merge bool) {
	ctx.storeTrailers(&ctx.Request.Header, merge)
}

// storeTrailers stores the trailer section of the request in h, which is its header or a copy.
func (ctx *RequestCtx) storeTrailers(h *RequestHeader, merge bool) {
	how := head.ShownNever
	if merge {
		how = head.ShownAbsent
	}
	h.s.Trailers.Receive(&h.s.Fields, &ctx.trailers, h.s.Spelling, how, merge)
}

// BasicAuth returns the user name and the password of a request with `Authorization:
// Basic` (RFC 7617). The first colon separates them. The name may be empty, and both may
// have any bytes except control characters: check for UTF-8 where it matters. If the
// request has no Authorization header or several, or if the header has another scheme,
// control characters (RFC 7617 section 2) or is malformed, ok is false.
//
// Compare passwords with subtle.ConstantTimeCompare, and answer requests without valid
// ones with 401 and `WWW-Authenticate: Basic realm="..."`.
func (ctx *RequestCtx) BasicAuth() (user, password string, ok bool) {
	used(ctx.loan)
	f := &ctx.Request.Header.s.Fields
	i := f.Find(msg.Authorization)
	if i < 0 || f.Next(i) >= 0 {
		return "", "", false
	}
	return parseBasicAuth(f.Value(i))
}

// parseBasicAuth reads
//
//	credentials = "Basic" 1*SP token68
func parseBasicAuth(v []byte) (user, password string, ok bool) {
	const scheme = "Basic "
	if len(v) < len(scheme) || !bytesconv.EqualFoldString(v[:len(scheme)], scheme) {
		return "", "", false
	}
	v = bytes.Trim(v[len(scheme):], " ")
	var room [128]byte
	b, err := base64.StdEncoding.AppendDecode(room[:0], v)
	if err != nil {
		return "", "", false
	}
	colon := -1
	for i, c := range b {
		if c < ' ' || c == 0x7f {
			return "", "", false
		}
		if c == ':' && colon < 0 {
			colon = i
		}
	}
	if colon < 0 {
		return "", "", false
	}
	s := string(b)
	return s[:colon], s[colon+1:], true
}
