package gale

// Header names, in their usual spelling. Names are compared case-insensitively (RFC
// 9110 section 5.1), so any other spelling means the same header.
const (
	// Message, connection and framing: RFC 9110 sections 6 to 10, RFC 9112.

	HeaderAllow            = "Allow"
	HeaderConnection       = "Connection"
	HeaderContentLength    = "Content-Length"
	HeaderDate             = "Date"
	HeaderExpect           = "Expect"
	HeaderFrom             = "From"
	HeaderHost             = "Host"
	HeaderKeepAlive        = "Keep-Alive"
	HeaderLocation         = "Location"
	HeaderMaxForwards      = "Max-Forwards"
	HeaderProxyConnection  = "Proxy-Connection"
	HeaderReferer          = "Referer"
	HeaderRetryAfter       = "Retry-After"
	HeaderServer           = "Server"
	HeaderTE               = "TE"
	HeaderTrailer          = "Trailer"
	HeaderTransferEncoding = "Transfer-Encoding"
	HeaderUpgrade          = "Upgrade"
	HeaderUserAgent        = "User-Agent"
	HeaderVia              = "Via"

	// Content and representations: RFC 9110 sections 8 and 12, RFC 6266.

	HeaderAccept             = "Accept"
	HeaderAcceptCharset      = "Accept-Charset"
	HeaderAcceptEncoding     = "Accept-Encoding"
	HeaderAcceptLanguage     = "Accept-Language"
	HeaderAcceptPatch        = "Accept-Patch"
	HeaderAcceptQuery        = "Accept-Query"
	HeaderContentDisposition = "Content-Disposition"
	HeaderContentEncoding    = "Content-Encoding"
	HeaderContentLanguage    = "Content-Language"
	HeaderContentLocation    = "Content-Location"
	HeaderContentType        = "Content-Type"
	HeaderETag               = "ETag"
	HeaderIndex              = "Index"
	HeaderLastModified       = "Last-Modified"
	HeaderLink               = "Link"
	HeaderSourceMap          = "SourceMap"
	HeaderVary               = "Vary"

	// Preconditions and ranges: RFC 9110 sections 13 and 14.

	HeaderAcceptRanges      = "Accept-Ranges"
	HeaderContentRange      = "Content-Range"
	HeaderIfMatch           = "If-Match"
	HeaderIfModifiedSince   = "If-Modified-Since"
	HeaderIfNoneMatch       = "If-None-Match"
	HeaderIfRange           = "If-Range"
	HeaderIfUnmodifiedSince = "If-Unmodified-Since"
	HeaderRange             = "Range"

	// Authentication and cookies: RFC 9110 section 11, RFC 6265.

	HeaderAuthorization      = "Authorization"
	HeaderCookie             = "Cookie"
	HeaderCookie2            = "Cookie2"
	HeaderProxyAuthenticate  = "Proxy-Authenticate"
	HeaderProxyAuthorization = "Proxy-Authorization"
	HeaderSetCookie          = "Set-Cookie"
	HeaderWWWAuthenticate    = "WWW-Authenticate"

	// Caching: RFC 9111, and early data: RFC 8470.

	HeaderAge           = "Age"
	HeaderCacheControl  = "Cache-Control"
	HeaderClearSiteData = "Clear-Site-Data"
	HeaderEarlyData     = "Early-Data"
	HeaderExpires       = "Expires"
	HeaderPragma        = "Pragma"
	HeaderWarning       = "Warning"

	// Cross-origin requests: the Fetch standard.

	HeaderAccessControlAllowCredentials = "Access-Control-Allow-Credentials"
	HeaderAccessControlAllowHeaders     = "Access-Control-Allow-Headers"
	HeaderAccessControlAllowMethods     = "Access-Control-Allow-Methods"
	HeaderAccessControlAllowOrigin      = "Access-Control-Allow-Origin"
	HeaderAccessControlExposeHeaders    = "Access-Control-Expose-Headers"
	HeaderAccessControlMaxAge           = "Access-Control-Max-Age"
	HeaderAccessControlRequestHeaders   = "Access-Control-Request-Headers"
	HeaderAccessControlRequestMethod    = "Access-Control-Request-Method"
	HeaderCrossOriginResourcePolicy     = "Cross-Origin-Resource-Policy"
	HeaderOrigin                        = "Origin"
	HeaderTimingAllowOrigin             = "Timing-Allow-Origin"

	// What pages may do: content security, transport security, reporting.

	HeaderContentSecurityPolicy           = "Content-Security-Policy"
	HeaderContentSecurityPolicyReportOnly = "Content-Security-Policy-Report-Only"
	HeaderExpectCT                        = "Expect-CT"
	HeaderFeaturePolicy                   = "Feature-Policy"
	HeaderNEL                             = "NEL"
	HeaderPublicKeyPins                   = "Public-Key-Pins"
	HeaderPublicKeyPinsReportOnly         = "Public-Key-Pins-Report-Only"
	HeaderReferrerPolicy                  = "Referrer-Policy"
	HeaderReportTo                        = "Report-To"
	HeaderStrictTransportSecurity         = "Strict-Transport-Security"
	HeaderUpgradeInsecureRequests         = "Upgrade-Insecure-Requests"
	HeaderXContentTypeOptions             = "X-Content-Type-Options"
	HeaderXDownloadOptions                = "X-Download-Options"
	HeaderXFrameOptions                   = "X-Frame-Options"
	HeaderXPermittedCrossDomainPolicies   = "X-Permitted-Cross-Domain-Policies"
	HeaderXPoweredBy                      = "X-Powered-By"
	HeaderXXSSProtection                  = "X-XSS-Protection"

	// Proxies: RFC 7239 and what came before it; alternative services: RFC 7838.

	HeaderAltSvc          = "Alt-Svc"
	HeaderForwarded       = "Forwarded"
	HeaderXForwardedFor   = "X-Forwarded-For"
	HeaderXForwardedHost  = "X-Forwarded-Host"
	HeaderXForwardedProto = "X-Forwarded-Proto"

	// Client hints: RFC 8942.

	HeaderAcceptCH         = "Accept-CH"
	HeaderAcceptCHLifetime = "Accept-CH-Lifetime"
	HeaderContentDPR       = "Content-DPR"
	HeaderDPR              = "DPR"
	HeaderSaveData         = "Save-Data"
	HeaderViewportWidth    = "Viewport-Width"
	HeaderWidth            = "Width"

	// WebSocket: RFC 6455; server-sent events: the HTML standard.

	HeaderLastEventID            = "Last-Event-ID"
	HeaderPingFrom               = "Ping-From"
	HeaderPingTo                 = "Ping-To"
	HeaderSecWebSocketAccept     = "Sec-WebSocket-Accept"
	HeaderSecWebSocketExtensions = "Sec-WebSocket-Extensions"
	HeaderSecWebSocketKey        = "Sec-WebSocket-Key"
	HeaderSecWebSocketProtocol   = "Sec-WebSocket-Protocol"
	HeaderSecWebSocketVersion    = "Sec-WebSocket-Version"

	// Others.

	HeaderAcceptPushPolicy    = "Accept-Push-Policy"
	HeaderAcceptSignature     = "Accept-Signature"
	HeaderDNT                 = "DNT"
	HeaderLargeAllocation     = "Large-Allocation"
	HeaderPushPolicy          = "Push-Policy"
	HeaderServerTiming        = "Server-Timing"
	HeaderSignature           = "Signature"
	HeaderSignedHeaders       = "Signed-Headers"
	HeaderTk                  = "Tk"
	HeaderXDNSPrefetchControl = "X-DNS-Prefetch-Control"
	HeaderXPingback           = "X-Pingback"
	HeaderXRequestedWith      = "X-Requested-With"
	HeaderXRobotsTag          = "X-Robots-Tag"
	HeaderXUACompatible       = "X-UA-Compatible"
)
