package h1

import (
	"math/bits"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

const (
	// requestLeading are the fields that come before all others of a request.
	requestLeading uint64 = 1<<msg.UserAgent | 1<<msg.Host
	// requestPlaced are the fields with a fixed place, before or after the others.
	requestPlaced = requestLeading | 1<<msg.ContentType | 1<<msg.ContentLength | 1<<msg.TransferEncoding |
		1<<msg.Trailer | 1<<msg.Connection
)

// AppendRequestHead appends the request line, the fields and the empty line (RFC
// 9112 section 3): first User-Agent, Host, Content-Type and the length, then the
// others in order, with Cookie fields among them, then Trailer, Cookie if the
// cookies were set one by one, and Connection.
func AppendRequestHead(dst []byte, r *head.Request) []byte {
	f := &r.Fields
	f.Verify()
	dst = appendRequestLine(dst, r)
	if r.NoSpecial {
		return appendAsSet(dst, r)
	}
	seen := f.Seen()
	dst = appendRecords(dst, f, msg.UserAgent)
	dst = appendRecords(dst, f, msg.Host)
	if seen&(1<<msg.ContentType) != 0 {
		dst = f.AppendKnown(dst, msg.ContentType)
	}
	if r.ContentLength > 0 && r.ImpliesType() {
		dst = append(dst, "Content-Type: "+head.DefaultRequestType+"\r\n"...)
	}
	switch n := r.ContentLength; {
	case n > 0 || n == 0 && (r.LengthSet || seen&(1<<msg.ContentLength) != 0) && r.HasLength():
		dst = appendLength(dst, n)
	case n == msg.LenChunked:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	if seen&^requestLeading != 0 || len(f.Recs) > bits.OnesCount64(seen) { // otherwise there are no other fields
		dst = f.AppendLines(dst, requestPlaced, r.Spelling)
	}
	if seen&head.TrailerBit != 0 {
		dst = appendAnnounced(dst, r)
	}
	if r.CookieState == head.CookiesOwned {
		dst = appendCookies(dst, r)
	}
	if r.Conn != 0 || r.Minor == 0 || seen&(1<<msg.Connection) != 0 {
		var buf []byte
		dst = AppendField(dst, "Connection", r.Connection(&buf))
	}
	return append(dst, '\r', '\n')
}

// appendAsSet appends the fields of a head with NoSpecial.
func appendAsSet(dst []byte, r *head.Request) []byte {
	dst = r.AppendLines(dst, head.TrailerBit, r.Spelling)
	if r.CookieState == head.CookiesOwned {
		dst = appendCookies(dst, r)
	}
	dst = appendAnnounced(dst, r)
	return append(dst, "\r\n"...)
}

func appendAnnounced(dst []byte, r *head.Request) []byte {
	return AppendField(dst, "Trailer", r.Trailers.Announced(&r.Fields, r.ContentLength == msg.LenChunked, r.Spelling))
}

// appendCookies appends the cookies that were set one by one.
func appendCookies(dst []byte, r *head.Request) []byte {
	from := len(dst)
	dst = append(dst, "Cookie: "...)
	text := len(dst)
	if dst = r.AppendCookies(dst); len(dst) == text {
		return dst[:from]
	}
	return append(dst, "\r\n"...)
}

func appendRequestLine(dst []byte, r *head.Request) []byte {
	if method := r.Part(msg.Method); len(method) == 0 {
		dst = append(dst, "GET "...)
	} else {
		dst = append(append(dst, method...), ' ')
	}
	if target := r.Part(msg.Target); len(target) > 0 && bytesconv.IsTarget(target) { // the common case
		dst = append(dst, target...)
	} else {
		dst = r.AppendTarget(dst)
	}
	// A request that was received over HTTP/2 is forwarded as HTTP/1.1.
	if proto := r.Part(msg.Proto); len(proto) > 0 && string(proto) != "HTTP/2.0" {
		dst = append(append(dst, ' '), proto...)
		return append(dst, '\r', '\n')
	}
	return append(dst, " HTTP/1.1\r\n"...)
}
