package gale

// Defaults of Gale that differ from those of fasthttp. The module compat/fasthttp sets
// these variables by name (go:linkname) when the program starts. All other code reads
// them later and never writes them.
//
// Limits and other settings that keep a program safe are not among them, because any
// dependency of a program may import that module.
var (
	// defaultServerName is the Server header of servers without a name.
	defaultServerName = "gale"
	// defaultUserAgent is the User-Agent header of clients without a name.
	defaultUserAgent = "gale"
	// defaultDualStack says whether clients also dial IPv6 addresses, and whether the
	// ListenAndServe methods also listen on them, if the caller doesn't say.
	defaultDualStack = true
	// keepRedirectedBody says whether a POST that a 301 or a 302 turns into a GET keeps
	// its body if the redirect stays on the same server.
	keepRedirectedBody = false
	// fsAnswersAll says whether an FS serves files also for methods other than GET and
	// HEAD that forms and APIs use.
	fsAnswersAll = false
	// formsFirst says whether servers parse a multipart form before they call the handler;
	// see Server.DisablePreParseMultipartForm.
	formsFirst = false
	// defaultHTTP2 says whether servers with TLS offer HTTP/2 if their HTTP2.Mode is
	// HTTP2Auto.
	defaultHTTP2 = true
	// updateKeepsHash says whether URI.Update with a query and no hash keeps the old hash.
	updateKeepsHash = false
	// headLimitPrefix begins the text of an error that says which limit a head has met.
	headLimitPrefix = "gale: "
	// errorPrefix is the prefix of errors whose texts begin with "fasthttp: " in
	// fasthttp.
	errorPrefix = "gale: "
	// bareErrorPrefix is the prefix of errors whose texts have no prefix in fasthttp.
	bareErrorPrefix = "gale: "
)
