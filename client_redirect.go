package gale

import (
	"bytes"
	"context"
	"time"
)

// maxGetRedirects is how many redirects Get and Post follow.
const maxGetRedirects = 16

// DoRedirects is Do that follows up to maxRedirectsCount redirects: the statuses
// 301, 302, 303, 307 and 308 (RFC 9110 section 15.4). If there is one more, the
// error is [ErrTooManyRedirects], and resp holds that redirect. If a redirect has
// no Location, the error is [ErrMissingLocation]. A Location such as "mailto:a@b", with
// another scheme than http and https and no "//", is not followed: resp holds that redirect,
// and the error is nil.
//
// After a 303 every method except HEAD becomes GET; after a 301 or 302 only POST
// does. When the method becomes GET, the body and the headers that describe it are
// removed. (fasthttp keeps them after a 301 and a 302, and so does the module
// compat/fasthttp if the redirect stays on the same server.) Otherwise the method
// and the body stay. A body that was a stream can't be sent again: the error is
// [ErrRedirectBodyStream].
//
// Authorization, Proxy-Authorization, Www-Authenticate, Cookie and Cookie2 are sent
// only to the host and port that req was made for. They are not sent after a
// redirect from https to http, and they don't come back if a later redirect leads
// to the first host again. They are kept if the port changes only because of a
// redirect from http to https on the default ports. fasthttp also sends them to
// subdomains and other ports.
//
// The timeout of req applies to all redirects together. Afterwards req is the
// request that was sent last, and its URI is the URI of resp.
func (c *Client) DoRedirects(req *Request, resp *Response, maxRedirectsCount int) error {
	return doRedirects(context.Background(), c, req, resp, maxRedirectsCount)
}

// DoRedirects is Do that follows redirects; see Client.DoRedirects. All requests go
// to the addresses of the HostClient, whatever host a redirect names. A redirect to
// another scheme is the error [ErrHostClientRedirectToDifferentScheme].
func (c *HostClient) DoRedirects(req *Request, resp *Response, maxRedirectsCount int) error {
	return doRedirects(context.Background(), c, req, resp, maxRedirectsCount)
}

// doer is a client: a *Client or a *HostClient.
type doer interface {
	do(ctx context.Context, req *Request, resp *Response) error
}

// doRedirects sends req and follows redirects, at most most of them.
func doRedirects(ctx context.Context, c doer, req *Request, resp *Response, most int) error {
	if resp == nil {
		resp = acquireResponse()
		defer releaseDropped(resp)
	}
	limit := req.timeout
	start := time.Now()
	defer func() { req.timeout = limit }()
	for n := 0; ; n++ {
		if limit > 0 && n > 0 {
			if req.timeout = limit - time.Since(start); req.timeout <= 0 {
				return ErrTimeout
			}
		}
		spent := req.bodyEnds()
		if err := c.do(ctx, req, resp); err != nil {
			return err
		}
		status := resp.Header.StatusCode()
		if !StatusCodeIsRedirect(status) {
			return nil
		}
		location := resp.Header.Peek(HeaderLocation)
		if scheme := bareScheme(location); scheme != nil && !isHTTPScheme(scheme) {
			return nil // for another program: "mailto:a@b"
		}
		if n >= most {
			return ErrTooManyRedirects
		}
		host, _ := c.(*HostClient)
		if err := redirect(req, status, location, spent, host); err != nil {
			return err
		}
		dropStream(resp)
	}
}

// releaseDropped releases a response that the caller doesn't want.
func releaseDropped(resp *Response) {
	dropStream(resp)
	ReleaseResponse(resp)
}

// dropStream reads the rest of a short body, so that its connection can be used
// again. It closes a long one.
func dropStream(resp *Response) {
	if s, ok := resp.bodyStream.(*responseStream); ok {
		s.drainShort()
	}
	_ = resp.CloseBodyStream()
}

// redirect turns req into the request that a response with the given status and
// Location asks for. spent says that the body was a stream. host is set if all
// requests go to that HostClient. After an error req is unchanged.
func redirect(req *Request, status int, location []byte, spent bool, host *HostClient) error {
	if len(location) == 0 {
		return ErrMissingLocation
	}
	u, next := req.URI(), uriPool.Get().(*URI)
	defer ReleaseURI(next)
	if host != nil && host.IsTLS && u.scheme.empty() {
		u.SetScheme("https")
	}
	if err := resolveLocation(next, u, location, req.DisableRedirectPathNormalizing); err != nil {
		return err
	}
	isTLS, err := schemeTLS(next.Scheme())
	if err != nil {
		return err
	}
	if host != nil && isTLS != host.IsTLS {
		return ErrHostClientRedirectToDifferentScheme
	}
	h := &req.Header
	sameServer := keepsCredentials(u, next)
	oldPost := (status == StatusMovedPermanently || status == StatusFound) && h.IsPost()
	switch {
	case status == StatusSeeOther && !h.IsHead() || oldPost && !(keepRedirectedBody && sameServer):
		h.SetMethod(MethodGet)
		dropBody(req)
	case spent:
		return ErrRedirectBodyStream
	case oldPost:
		h.SetMethod(MethodGet)
	}
	if !bytes.Equal(next.Host(), u.Host()) {
		h.SetHostBytes(next.Host()) // whatever UseHostHeader says: it was meant for the other one
	}
	if sameServer {
		next.username, next.password = next.store(u.Username()), next.store(u.Password())
		next.userParsed = u.userParsed
	} else {
		for _, name := range credentials {
			h.Del(name)
		}
		h.DelAllCookies()
	}
	req.SetURI(next)
	return nil
}

// resolveLocation sets next to what location means on a page at u (RFC 9110 section
// 10.2.2). A user and a password are left out, both those of u and those that the
// server wrote into location.
func resolveLocation(next, u *URI, location []byte, asGiven bool) error {
	if err := next.parse(nil, location, false, false); err != nil {
		return err
	}
	if i := bytes.IndexAny(location, ":/?#"); i >= 0 && location[i] == ':' && next.scheme.empty() && !bytes.EqualFold(location[:i], u.Scheme()) {
		// "1a:b" isn't a path (RFC 3986 section 4.2).
		_, err := schemeTLS(location[:i])
		if err == nil {
			err = ErrorInvalidURI
		}
		return err
	}
	u.CopyTo(next)
	if err := next.update(location); err != nil {
		return err
	}
	next.SetUsername("")
	next.SetPassword("")
	if next.hash.empty() {
		next.SetHashBytes(u.Hash())
	}
	next.DisablePathNormalizing = next.DisablePathNormalizing || asGiven
	return nil
}

// credentials are headers that are meant for one host. Cookies are handled
// separately.
var credentials = [...]string{HeaderAuthorization, HeaderProxyAuthorization, HeaderWWWAuthenticate, "Cookie2"}

// keepsCredentials reports whether credentials for u may also be sent to next.
func keepsCredentials(u, next *URI) bool {
	wasTLS, isTLS := string(u.Scheme()) == "https", string(next.Scheme()) == "https"
	if wasTLS && !isTLS {
		return false
	}
	host, port := splitPort(u.Host())
	nextHost, nextPort := splitPort(next.Host())
	if !bytes.Equal(host, nextHost) {
		return false
	}
	if port == "" && nextPort == "" {
		return true
	}
	return portOr(port, wasTLS) == portOr(nextPort, isTLS) ||
		!wasTLS && isTLS && portOr(port, false) == "80" && portOr(nextPort, true) == "443"
}

// splitPort splits the host of a URI: "host", "host:" or "host:port".
func splitPort(b []byte) (host []byte, port string) {
	i := bytes.LastIndexByte(b, ':')
	if i < 0 || bytes.IndexByte(b[i:], ']') >= 0 {
		return b, ""
	}
	return b[:i], string(b[i+1:])
}

func portOr(port string, isTLS bool) string {
	switch {
	case port != "":
		return port
	case isTLS:
		return "443"
	}
	return "80"
}

// bodyFields are the fields that describe a body, or the way to it (RFC 9110
// sections 8 and 15.4).
var bodyFields = [...]string{
	HeaderContentType, HeaderContentEncoding, HeaderContentLanguage, HeaderContentLocation,
	HeaderContentLength, HeaderContentRange, HeaderTransferEncoding, HeaderTrailer, HeaderExpect,
	HeaderLastModified, "Digest", "Content-Digest", "Repr-Digest", "Content-Md5",
}

// dropBody removes the body and the fields that describe it.
func dropBody(req *Request) {
	req.ResetBody()
	req.postArgs.Reset()
	req.postArgsParsed = false
	for _, name := range bodyFields {
		req.Header.Del(name)
	}
}
