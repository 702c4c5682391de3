package gale

import (
	"errors"
	"io"
	"iter"
	"mime/multipart"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// The methods in this file are about the request. The slices that they return
// belong to it: they are valid until the handler returns or the request is
// changed.

// URI returns the URI of the request: scheme and host as the connection and
// the Host field tell them, the rest from the request-target.
func (ctx *RequestCtx) URI() *URI { return ctx.Request.URI() }

// RequestURI returns the request-target as it was received
// (RFC 9112 section 3.2).
func (ctx *RequestCtx) RequestURI() []byte { return ctx.Request.Header.RequestURI() }

// Path returns the path of the request, percent-decoded once and normalised:
// it begins with a slash and has neither `//`, `/./` nor `/../` in it.
func (ctx *RequestCtx) Path() []byte { return ctx.URI().Path() }

// Host returns the host that the request is for, with its port if one was
// given.
func (ctx *RequestCtx) Host() []byte { return ctx.URI().Host() }

// Method returns the method of the request.
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

// IsTrace reports whether the method is TRACE.
func (ctx *RequestCtx) IsTrace() bool { return ctx.Request.Header.IsTrace() }

// IsPatch reports whether the method is PATCH.
func (ctx *RequestCtx) IsPatch() bool { return ctx.Request.Header.IsPatch() }

// IsQuery reports whether the method is QUERY.
func (ctx *RequestCtx) IsQuery() bool { return ctx.Request.Header.IsQuery() }

// Referer returns the Referer field.
func (ctx *RequestCtx) Referer() []byte { return ctx.Request.Header.Referer() }

// UserAgent returns the User-Agent field.
func (ctx *RequestCtx) UserAgent() []byte { return ctx.Request.Header.UserAgent() }

// QueryArgs returns the arguments of the query.
func (ctx *RequestCtx) QueryArgs() *Args { return ctx.URI().QueryArgs() }

// PostArgs returns the arguments of a form in the body, of media type
// application/x-www-form-urlencoded.
func (ctx *RequestCtx) PostArgs() *Args { return ctx.Request.PostArgs() }

// PostBody returns the body of the request, of whatever method. A streamed
// body is read to its end first; if that fails it is empty, see Request.Body.
func (ctx *RequestCtx) PostBody() []byte { return ctx.Request.Body() }

// RequestBodyStream returns the body of the request as a stream, or nil if it
// is none (see Server.StreamRequestBody). Its Read blocks until the client has
// sent more; it must not be used after the handler has returned. One goroutine may
// read it while another one makes and sends the response: with Write, Flush, SendInterim
// and the setters of Response. A Read that finds the end of a body in the chunked coding puts
// its trailer fields into Request.Header: meanwhile others must not change that, nor ask for
// trailer fields; with Server.MergeTrailers they must not use it at all.
func (ctx *RequestCtx) RequestBodyStream() io.Reader { return ctx.Request.BodyStream() }

// LimitRequestBody makes reading the body of a streamed request fail with
// ErrBodyTooLarge beyond n bytes; 0 or less means no limit. It has no effect on a body
// that has arrived. Not in fasthttp.
func (ctx *RequestCtx) LimitRequestBody(n int64) {
	ctx.bringer().LimitBody(ctx, n)
}

// CloseRequestBody ends the reading of a streamed body before the handler
// returns: a Read that runs in another goroutine fails at once, and so do later ones. It
// has no effect on a body that has arrived. Not in fasthttp.
func (ctx *RequestCtx) CloseRequestBody() {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if ctx.reach == running { // else it is closed
		ctx.x.CloseBody(ctx)
	}
}

// MultipartReader returns a reader of the parts of a multipart/form-data body,
// as they come where the body is a stream. Use either it or MultipartForm. Not
// in fasthttp.
func (ctx *RequestCtx) MultipartReader() (*multipart.Reader, error) {
	return ctx.Request.MultipartReader()
}

// MultipartForm returns the form in a multipart/form-data body, or
// ErrNoMultipartForm. Uploaded files that were put on disk are removed after
// the handler.
func (ctx *RequestCtx) MultipartForm() (*multipart.Form, error) { return ctx.Request.MultipartForm() }

// MultipartFormWithLimit is MultipartForm that reads at most maxBodySize bytes
// of body; 0 or less means no limit beside the server's.
func (ctx *RequestCtx) MultipartFormWithLimit(maxBodySize int) (*multipart.Form, error) {
	return ctx.Request.MultipartFormWithLimit(maxBodySize)
}

// FormFile returns the first file uploaded under key, ErrMissingFile if there
// is none, or why the form can't be read.
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

// FormValue returns the value of key in the query, else in the body, be it a
// form of either kind, else nil. Server.FormValueFunc may replace this rule.
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
			return []byte(vv[0])
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

// Trailers returns an iterator over the names and values of the fields in the
// trailer section of a chunked request body, declared or not (RFC 9110 section
// 6.5). A streamed body must have been read to its end. The slices are valid
// until the handler returns. Not in fasthttp.
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

// PeekTrailer returns the value of the first field called name in the trailer
// section of a chunked request body (RFC 9110 section 6.5), nil if there is none.
// A streamed body must have been read to its end. The slice is valid until the
// handler returns. Not in fasthttp.
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

// takeTrailers is called at the end of a body in the chunked coding. The header gets
// a copy of the trailer section, so that it is sent with a request that is passed
// on; it doesn't show the fields unless merge is true (RFC 9110 section 6.5.1).
// Fields that must not be there at all were refused by the parser.
func (ctx *RequestCtx) takeTrailers(merge bool) {
	h := &ctx.Request.Header
	how := head.ShownNever
	if merge {
		how = head.ShownAbsent
	}
	h.s.Trailers.Receive(&h.s.Fields, &ctx.trailers, h.s.Spelling, how, merge)
}
