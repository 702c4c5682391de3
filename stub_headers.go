package gale

const HeaderAccept = "Accept"

const HeaderAcceptCH = "Accept-CH"

const HeaderAcceptCHLifetime = "Accept-CH-Lifetime"

const HeaderAcceptCharset = "Accept-Charset"

const HeaderAcceptEncoding = "Accept-Encoding"

const HeaderAcceptLanguage = "Accept-Language"

const HeaderAcceptPatch = "Accept-Patch"

const HeaderAcceptPushPolicy = "Accept-Push-Policy"

const HeaderAcceptQuery = "Accept-Query"

const HeaderAcceptRanges = "Accept-Ranges"

const HeaderAcceptSignature = "Accept-Signature"

const HeaderAccessControlAllowCredentials = "Access-Control-Allow-Credentials"

const HeaderAccessControlAllowHeaders = "Access-Control-Allow-Headers"

const HeaderAccessControlAllowMethods = "Access-Control-Allow-Methods"

const HeaderAccessControlAllowOrigin = "Access-Control-Allow-Origin"

const HeaderAccessControlExposeHeaders = "Access-Control-Expose-Headers"

const HeaderAccessControlMaxAge = "Access-Control-Max-Age"

const HeaderAccessControlRequestHeaders = "Access-Control-Request-Headers"

const HeaderAccessControlRequestMethod = "Access-Control-Request-Method"

const HeaderAge = "Age"

const HeaderAllow = "Allow"

const HeaderAltSvc = "Alt-Svc"

const HeaderAuthorization = "Authorization"

const HeaderCacheControl = "Cache-Control"

const HeaderClearSiteData = "Clear-Site-Data"

const HeaderConnection = "Connection"

const HeaderContentDPR = "Content-DPR"

const HeaderContentDisposition = "Content-Disposition"

const HeaderContentEncoding = "Content-Encoding"

const HeaderContentLanguage = "Content-Language"

const HeaderContentLength = "Content-Length"

const HeaderContentLocation = "Content-Location"

const HeaderContentRange = "Content-Range"

const HeaderContentSecurityPolicy = "Content-Security-Policy"

const HeaderContentSecurityPolicyReportOnly = "Content-Security-Policy-Report-Only"

const HeaderContentType = "Content-Type"

const HeaderCookie = "Cookie"

const HeaderCookie2 = "Cookie2"

const HeaderCrossOriginResourcePolicy = "Cross-Origin-Resource-Policy"

const HeaderDNT = "DNT"

const HeaderDPR = "DPR"

const HeaderDate = "Date"

const HeaderETag = "ETag"

const HeaderEarlyData = "Early-Data"

const HeaderExpect = "Expect"

const HeaderExpectCT = "Expect-CT"

const HeaderExpires = "Expires"

const HeaderFeaturePolicy = "Feature-Policy"

const HeaderForwarded = "Forwarded"

const HeaderFrom = "From"

const HeaderHost = "Host"

const HeaderIfMatch = "If-Match"

const HeaderIfModifiedSince = "If-Modified-Since"

const HeaderIfNoneMatch = "If-None-Match"

const HeaderIfRange = "If-Range"

const HeaderIfUnmodifiedSince = "If-Unmodified-Since"

const HeaderIndex = "Index"

const HeaderKeepAlive = "Keep-Alive"

const HeaderLargeAllocation = "Large-Allocation"

const HeaderLastEventID = "Last-Event-ID"

const HeaderLastModified = "Last-Modified"

const HeaderLink = "Link"

const HeaderLocation = "Location"

const HeaderMaxForwards = "Max-Forwards"

const HeaderNEL = "NEL"

const HeaderOrigin = "Origin"

const HeaderPingFrom = "Ping-From"

const HeaderPingTo = "Ping-To"

const HeaderPragma = "Pragma"

const HeaderProxyAuthenticate = "Proxy-Authenticate"

const HeaderProxyAuthorization = "Proxy-Authorization"

const HeaderProxyConnection = "Proxy-Connection"

const HeaderPublicKeyPins = "Public-Key-Pins"

const HeaderPublicKeyPinsReportOnly = "Public-Key-Pins-Report-Only"

const HeaderPushPolicy = "Push-Policy"

const HeaderRange = "Range"

const HeaderReferer = "Referer"

const HeaderReferrerPolicy = "Referrer-Policy"

const HeaderReportTo = "Report-To"

const HeaderRetryAfter = "Retry-After"

const HeaderSaveData = "Save-Data"

const HeaderSecWebSocketAccept = "Sec-WebSocket-Accept"

const HeaderSecWebSocketExtensions = "Sec-WebSocket-Extensions"

const HeaderSecWebSocketKey = "Sec-WebSocket-Key"

const HeaderSecWebSocketProtocol = "Sec-WebSocket-Protocol"

const HeaderSecWebSocketVersion = "Sec-WebSocket-Version"

const HeaderServer = "Server"

const HeaderServerTiming = "Server-Timing"

const HeaderSetCookie = "Set-Cookie"

const HeaderSignature = "Signature"

const HeaderSignedHeaders = "Signed-Headers"

const HeaderSourceMap = "SourceMap"

const HeaderTE = "TE"

const HeaderTimingAllowOrigin = "Timing-Allow-Origin"

const HeaderTk = "Tk"

const HeaderTrailer = "Trailer"

const HeaderTransferEncoding = "Transfer-Encoding"

const HeaderUpgrade = "Upgrade"

const HeaderUpgradeInsecureRequests = "Upgrade-Insecure-Requests"

const HeaderUserAgent = "User-Agent"

const HeaderVary = "Vary"

const HeaderVia = "Via"

const HeaderViewportWidth = "Viewport-Width"

const HeaderWWWAuthenticate = "WWW-Authenticate"

const HeaderWarning = "Warning"

const HeaderWidth = "Width"

const HeaderXContentTypeOptions = "X-Content-Type-Options"

const HeaderXDNSPrefetchControl = "X-DNS-Prefetch-Control"

const HeaderXDownloadOptions = "X-Download-Options"

const HeaderXForwardedFor = "X-Forwarded-For"

const HeaderXForwardedHost = "X-Forwarded-Host"

const HeaderXForwardedProto = "X-Forwarded-Proto"

const HeaderXFrameOptions = "X-Frame-Options"

const HeaderXPermittedCrossDomainPolicies = "X-Permitted-Cross-Domain-Policies"

const HeaderXPingback = "X-Pingback"

const HeaderXPoweredBy = "X-Powered-By"

const HeaderXRequestedWith = "X-Requested-With"

const HeaderXRobotsTag = "X-Robots-Tag"

const HeaderXUACompatible = "X-UA-Compatible"

const HeaderXXSSProtection = "X-XSS-Protection"
