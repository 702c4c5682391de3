package gale

import (
	"bytes"
	"io"
	"time"

	"github.com/galehttp/gale/internal/bytesconv"
)

// SetStatusCode sets the status code of the response.
func (ctx *RequestCtx) SetStatusCode(statusCode int) { ctx.Response.Header.SetStatusCode(statusCode) }

// SetContentType sets the Content-Type header of the response.
func (ctx *RequestCtx) SetContentType(contentType string) {
	ctx.Response.Header.SetContentType(contentType)
}

// SetContentTypeBytes sets the Content-Type header of the response.
func (ctx *RequestCtx) SetContentTypeBytes(contentType []byte) {
	ctx.Response.Header.SetContentTypeBytes(contentType)
}

// SetConnectionClose makes the server close the connection after the response, which
// carries `Connection: close`.
func (ctx *RequestCtx) SetConnectionClose() { ctx.Response.SetConnectionClose() }

// SetBody sets the body of the response to a copy of body.
func (ctx *RequestCtx) SetBody(body []byte) { ctx.Response.SetBody(body) }

// SetBodyString sets the body of the response.
func (ctx *RequestCtx) SetBodyString(body string) { ctx.Response.SetBodyString(body) }

// IsBodyStream reports whether the body of the response is a stream.
func (ctx *RequestCtx) IsBodyStream() bool { return ctx.Response.IsBodyStream() }

// ResetBody empties the body of the response.
func (ctx *RequestCtx) ResetBody() { ctx.Response.ResetBody() }

// SetBodyStream makes bodyStream the body of the response. It is read after the handler
// has returned, and closed if it is an io.Closer. If bodySize >= 0, it must have exactly
// bodySize bytes. Otherwise the body is sent chunked until io.EOF, and the bytes of each
// Read are sent at once.
func (ctx *RequestCtx) SetBodyStream(bodyStream io.Reader, bodySize int) {
	ctx.Response.SetBodyStream(bodyStream, bodySize)
}

// SetBodyStreamWriter makes what sw writes the body of the response. sw runs after the
// handler has returned and must not use ctx. The body is sent chunked; a flush of the
// writer sends all that was written before. See Flush for sending while the handler runs.
func (ctx *RequestCtx) SetBodyStreamWriter(sw StreamWriter) { ctx.Response.SetBodyStreamWriter(sw) }

// Write appends p to the body of the response. It never fails.
func (ctx *RequestCtx) Write(p []byte) (int, error) {
	ctx.Response.AppendBody(p)
	return len(p), nil
}

// WriteString appends s to the body of the response. It never fails.
func (ctx *RequestCtx) WriteString(s string) (int, error) {
	ctx.Response.AppendBodyString(s)
	return len(s), nil
}

// Success sets the Content-Type and the body of the response.
func (ctx *RequestCtx) Success(contentType string, body []byte) {
	ctx.SetContentType(contentType)
	ctx.SetBody(body)
}

// SuccessString sets the Content-Type and the body of the response.
func (ctx *RequestCtx) SuccessString(contentType, body string) {
	ctx.SetContentType(contentType)
	ctx.SetBodyString(body)
}

// Error replaces the response with one that has the given status code, and msg as plain
// text. Headers that were set before are dropped; see Fail and BeforeSend. Hijack is undone.
func (ctx *RequestCtx) Error(msg string, statusCode int) {
	ctx.replaceResponse()
	ctx.SetStatusCode(statusCode)
	ctx.SetContentType(plainText)
	ctx.SetBodyString(msg)
}

const plainText = "text/plain; charset=utf-8"

// replaceResponse empties the response, for another answer than that for which the handler
// may have called Hijack.
func (ctx *RequestCtx) replaceResponse() {
	ctx.keepConn()
	ctx.Response.Reset()
}

// NotFound replaces the response with a 404. Hijack is undone.
func (ctx *RequestCtx) NotFound() {
	ctx.replaceResponse()
	ctx.SetStatusCode(StatusNotFound)
	ctx.SetBodyString("404 Page not found")
}

// NotModified replaces the response with a 304. Hijack is undone.
func (ctx *RequestCtx) NotModified() {
	ctx.replaceResponse()
	ctx.SetStatusCode(StatusNotModified)
}

// IfModifiedSince reports whether lastModified is later than the time in the request's
// If-Modified-Since header (RFC 9110 section 13.1.3). It returns true if there is no such
// header or it is malformed.
func (ctx *RequestCtx) IfModifiedSince(lastModified time.Time) bool {
	v := ctx.Request.Header.Peek(HeaderIfModifiedSince)
	if len(v) == 0 {
		return true
	}
	since, err := ParseHTTPDate(v)
	if err != nil {
		return true
	}
	return since.Before(lastModified.Truncate(time.Second))
}

// Redirect makes the response a redirect to uri, which is resolved against the URI of the
// request, so that Location is always absolute. A uri with another scheme than http and
// https, such as "com.example.app:/callback?code=1" or "mailto:a@b", goes out as it is; CR,
// LF and NUL become spaces. A statusCode other than 301, 302, 303, 307 and 308 becomes 302.
//
// Don't pass a uri that comes from a client without a check: that would be an open
// redirect. If uri is invalid, such as "//a,b" (see [URI.Update]), the response is a 500
// without Location. In fasthttp an invalid uri redirects to the page that the client
// comes from, or to another host.
func (ctx *RequestCtx) Redirect(uri string, statusCode int) {
	b := bytes.TrimLeft([]byte(uri), " ")
	if scheme := schemeOf(b); scheme != nil && !isHTTPScheme(scheme) {
		ctx.redirect(b, statusCode)
		return
	}
	u := uriPool.Get().(*URI)
	defer ReleaseURI(u)
	ctx.URI().CopyTo(u)
	bytesconv.NeutralizeLine(b)
	if u.update(b) != nil {
		ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
		return
	}
	ctx.redirect(u.FullURI(), statusCode)
}

// RedirectBytes is Redirect for bytes.
func (ctx *RequestCtx) RedirectBytes(uri []byte, statusCode int) {
	ctx.Redirect(string(uri), statusCode)
}

func (ctx *RequestCtx) redirect(location []byte, statusCode int) {
	ctx.keepConn()
	ctx.Response.Header.SetBytesV(HeaderLocation, location)
	switch statusCode {
	case StatusMovedPermanently, StatusFound, StatusSeeOther, StatusTemporaryRedirect, StatusPermanentRedirect:
	default:
		statusCode = StatusFound
	}
	ctx.Response.SetStatusCode(statusCode)
}

// SendFile answers with the file at path; see ServeFile, which handles ranges,
// conditional requests and compression. path must not come from a client.
func (ctx *RequestCtx) SendFile(path string) { ServeFile(ctx, path) }

// SendFileBytes is SendFile for bytes.
func (ctx *RequestCtx) SendFileBytes(path []byte) { ServeFileBytes(ctx, path) }

// SendFileLiteral is SendFile with a path that is not decoded or normalized; see
// ServeFileLiteral.
func (ctx *RequestCtx) SendFileLiteral(path string) { ServeFileLiteral(ctx, path) }
