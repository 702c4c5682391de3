package gale

// Gale's own defaults, which differ from fasthttp's. The
// module compat/fasthttp sets these variables, by their names, when the program
// starts; whatever else reads them does so later, and never writes them.
//
// Limits, and what else keeps a program safe, are not among them: any
// dependency of a program may import that module.
var (
	// defaultServerName is the Server field of servers without a name.
	defaultServerName = "gale"
	// defaultUserAgent is the User-Agent field of clients without a name.
	defaultUserAgent = "gale"
	// defaultDualStack says whether connections are dialed to addresses of
	// IPv6 too, and whether the ListenAndServe methods listen on them, where the
	// caller doesn't say.
	defaultDualStack = true
	// keepRedirectedBody says whether a POST that a 301 or a 302 makes a GET takes
	// its body along where the redirect stays on the same server.
	keepRedirectedBody = false
	// fsAnswersAll says whether an FS answers methods other than GET and HEAD, of those
	// that forms and APIs use, with files too.
	fsAnswersAll = false
	// defaultHTTP2 says whether servers with TLS offer HTTP/2 where their HTTP2.Mode
	// doesn't say.
	defaultHTTP2 = true
	// errorPrefix is what the texts of errors begin with that begin with
	// "fasthttp: " in fasthttp.
	errorPrefix = "gale: "
	// bareErrorPrefix is what the texts of errors begin with that have no prefix
	// in fasthttp.
	bareErrorPrefix = "gale: "
)
