package msg

import "github.com/galehttp/gale/internal/bytesconv"

// ID is a number for each field name that Gale knows. The parser finds it once, and all
// later code compares numbers. The zero ID, Unknown, is any other name.
type ID uint8

// The known field names. At most 63 of them fit, see Fields.
const (
	Unknown ID = iota
	Host
	ContentLength
	TransferEncoding
	Connection
	ContentType
	UserAgent
	Accept
	AcceptEncoding
	AcceptLanguage
	Cookie
	Authorization
	CacheControl
	Referer
	Origin
	IfNoneMatch
	IfModifiedSince
	IfMatch
	IfUnmodifiedSince
	IfRange
	Range
	Expect
	Upgrade
	UpgradeInsecureRequests
	Trailer
	Te
	XForwardedFor
	XForwardedProto
	XForwardedHost
	XRealIp
	XRequestId
	XRequestedWith
	SecFetchSite
	SecFetchMode
	SecFetchDest
	SecFetchUser
	SecChUa
	SecChUaMobile
	SecChUaPlatform
	Pragma
	Dnt
	Priority
	KeepAlive
	ProxyConnection
	ProxyAuthorization
	SecWebsocketKey
	SecWebsocketVersion
	Server
	Date
	ContentEncoding
	SetCookie
	Location
	LastModified
	Etag
	Vary
	AcceptRanges
	ContentRange
	ContentLanguage
	ContentDisposition
	AccessControlAllowOrigin
	StrictTransportSecurity
	XContentTypeOptions
	Expires
	Allow

	numIDs
)

// NumIDs is one more than the highest ID.
const NumIDs = int(numIDs)

// names holds the canonical spelling of each ID.
var names = [numIDs]string{
	Host:                     "Host",
	ContentLength:            "Content-Length",
	TransferEncoding:         "Transfer-Encoding",
	Connection:               "Connection",
	ContentType:              "Content-Type",
	UserAgent:                "User-Agent",
	Accept:                   "Accept",
	AcceptEncoding:           "Accept-Encoding",
	AcceptLanguage:           "Accept-Language",
	Cookie:                   "Cookie",
	Authorization:            "Authorization",
	CacheControl:             "Cache-Control",
	Referer:                  "Referer",
	Origin:                   "Origin",
	IfNoneMatch:              "If-None-Match",
	IfModifiedSince:          "If-Modified-Since",
	IfMatch:                  "If-Match",
	IfUnmodifiedSince:        "If-Unmodified-Since",
	IfRange:                  "If-Range",
	Range:                    "Range",
	Expect:                   "Expect",
	Upgrade:                  "Upgrade",
	UpgradeInsecureRequests:  "Upgrade-Insecure-Requests",
	Trailer:                  "Trailer",
	Te:                       "Te",
	XForwardedFor:            "X-Forwarded-For",
	XForwardedProto:          "X-Forwarded-Proto",
	XForwardedHost:           "X-Forwarded-Host",
	XRealIp:                  "X-Real-Ip",
	XRequestId:               "X-Request-Id",
	XRequestedWith:           "X-Requested-With",
	SecFetchSite:             "Sec-Fetch-Site",
	SecFetchMode:             "Sec-Fetch-Mode",
	SecFetchDest:             "Sec-Fetch-Dest",
	SecFetchUser:             "Sec-Fetch-User",
	SecChUa:                  "Sec-Ch-Ua",
	SecChUaMobile:            "Sec-Ch-Ua-Mobile",
	SecChUaPlatform:          "Sec-Ch-Ua-Platform",
	Pragma:                   "Pragma",
	Dnt:                      "Dnt",
	Priority:                 "Priority",
	KeepAlive:                "Keep-Alive",
	ProxyConnection:          "Proxy-Connection",
	ProxyAuthorization:       "Proxy-Authorization",
	SecWebsocketKey:          "Sec-Websocket-Key",
	SecWebsocketVersion:      "Sec-Websocket-Version",
	Server:                   "Server",
	Date:                     "Date",
	ContentEncoding:          "Content-Encoding",
	SetCookie:                "Set-Cookie",
	Location:                 "Location",
	LastModified:             "Last-Modified",
	Etag:                     "Etag",
	Vary:                     "Vary",
	AcceptRanges:             "Accept-Ranges",
	ContentRange:             "Content-Range",
	ContentLanguage:          "Content-Language",
	ContentDisposition:       "Content-Disposition",
	AccessControlAllowOrigin: "Access-Control-Allow-Origin",
	StrictTransportSecurity:  "Strict-Transport-Security",
	XContentTypeOptions:      "X-Content-Type-Options",
	Expires:                  "Expires",
	Allow:                    "Allow",
}

// nameBytes has the same names as slices, for callers that return them.
var nameBytes = func() (b [numIDs][]byte) {
	for i, s := range names {
		b[i] = []byte(s)
	}
	return b
}()

// String returns the canonical spelling of the name, "" for Unknown.
func (id ID) String() string { return names[id] }

// Name returns the canonical spelling of the name; the bytes are shared and
// must not be changed.
func (id ID) Name() []byte { return nameBytes[id] }

// Lookup returns the ID of name, ignoring case (RFC 9110 section 5.1), or
// Unknown.
func Lookup(name []byte) ID {
	n := len(name)
	var first, last uint64
	if n >= 8 {
		first, last = wordAt(name, 0), wordAt(name, n-8)
	} else {
		var b [8]byte
		copy(b[:], name)
		first = wordAt(b[:], 0)
		last = first
	}
	k := Candidate(first, last, n)
	if int(k.Len) != n || first|k.FirstFold != k.First || last|k.LastFold != k.Last || !k.Mid(name) {
		return Unknown
	}
	return k.ID
}

// LookupString is Lookup for a string.
func LookupString(name string) ID { return Lookup(bytesconv.S2B(name)) }
