package gale

// These are Gale's own defaults, which differ from fasthttp's. The module
// compat/fasthttp sets these variables, by their names, when the program starts.
// All other code reads them later and never writes them.
//
// Limits and other settings that keep a program safe are not among them: any
// dependency of a program may import that module.
var (
	// defaultServerName is the Server header of servers without a name.
	defaultServerName = "gale"
	// defaultUserAgent is the User-Agent header of clients without a name.
	defaultUserAgent = "gale"
	// defaultDualStack says whether clients also dial IPv6 addresses, and whether
	// the ListenAndServe methods also listen on them, if the caller doesn't say.
	defaultDualStack = true
	// keepRedirectedBody says whether a request keeps its body when a 301 or 302
	// turns its POST into a GET and the redirect stays on the same server.
	keepRedirectedBody = false
	// fsAnswersAll says whether an FS also serves files for the methods that forms
	// and APIs use besides GET and HEAD.
	fsAnswersAll = false
	// defaultHTTP2 says whether servers with TLS offer HTTP/2 if their HTTP2.Mode
	// doesn't say.
	defaultHTTP2 = true
	// errorPrefix begins the texts of errors that begin with "fasthttp: " in
	// fasthttp.
	errorPrefix = "gale: "
	// bareErrorPrefix begins the texts of errors that have no prefix in fasthttp.
	bareErrorPrefix = "gale: "
)
