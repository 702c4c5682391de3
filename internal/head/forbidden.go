package head

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// forbiddenTrailers are the known fields of RFC 9110 section 6.5.1: those for framing,
// routing, authentication, request modifiers, and response control, and those that say
// how content must be read. Date is not among them: it is the time when the message was
// made (section 6.6.1), and nothing depends on it.
var forbiddenTrailers = func() (set uint64) {
	for _, id := range []msg.ID{
		msg.Host, msg.ContentLength, msg.TransferEncoding, msg.Connection, msg.KeepAlive, msg.ProxyConnection,
		msg.Upgrade, msg.Trailer, msg.Te, msg.Expect, msg.Range, msg.IfMatch, msg.IfNoneMatch,
		msg.IfModifiedSince, msg.IfUnmodifiedSince, msg.IfRange, msg.CacheControl, msg.Pragma,
		msg.Authorization, msg.ProxyAuthorization, msg.Cookie, msg.SetCookie,
		msg.ContentType, msg.ContentEncoding, msg.ContentRange, msg.ContentLanguage, msg.ContentDisposition,
		msg.Location, msg.Expires, msg.Vary,
		msg.XForwardedFor, msg.XForwardedHost, msg.XForwardedProto, msg.XRealIp,
	} {
		set |= 1 << id
	}
	return set
}()

// ForbiddenTrailer reports whether a field called name is forbidden in a trailer section
// (RFC 9110 section 6.5.1). In addition to those that the RFC names, these are the fields
// in which proxies send the client's address.
func ForbiddenTrailer(name []byte) bool {
	if id := msg.Lookup(name); id != msg.Unknown {
		return forbiddenTrailers&(1<<id) != 0
	}
	for _, s := range &otherForbidden {
		if len(name) == len(s) && bytesconv.EqualFoldString(name, s) {
			return true
		}
	}
	return false
}

// otherForbidden are forbidden names without an ID.
var otherForbidden = [...]string{
	"Proxy-Authenticate", "Www-Authenticate", "Max-Forwards", "Content-Location", "Forwarded",
	"X-Forwarded-Port", "X-Forwarded-Server", "Age", "Retry-After", "Warning",
}
