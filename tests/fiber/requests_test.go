package fiber

import (
	"fmt"
	"slices"
	"strings"
)

// A request is what a client sends on one connection.
type request struct {
	name string
	app  string // "stream" reads bodies while they arrive, "own" has other settings
	only string // "fiber2" or "fiber3", if the other version lacks something
	// send is written piece by piece: each when the answers to the one before are there.
	send    []string
	answers int  // to each piece; 0: as many as there are request lines
	silent  bool // fasthttp doesn't answer
	short   bool // is sent by default
}

func head(method, path string, fields ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: a.example\r\n", method, path)
	for _, f := range fields {
		b.WriteString(f + "\r\n")
	}
	return b.String() + "\r\n"
}

func get(path string, fields ...string) string { return head("GET", path, fields...) }

// with adds a body.
func with(method, path, body string, fields ...string) string {
	return head(method, path, append(fields, fmt.Sprintf("Content-Length: %d", len(body)))...) + body
}

// chunked sends the parts of a body as chunks.
func chunked(method, path string, fields []string, parts ...string) string {
	b := head(method, path, append(slices.Clone(fields), "Transfer-Encoding: chunked")...)
	for _, p := range parts {
		b += fmt.Sprintf("%x\r\n%s\r\n", len(p), p)
	}
	return b + "0\r\n\r\n"
}

const (
	formType  = "Content-Type: application/x-www-form-urlencoded"
	partsType = "Content-Type: multipart/form-data; boundary=xyz"
	jsonType  = "Content-Type: application/json"
	parts     = "--xyz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n--xyz\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n.txt\"\r\nContent-Type: text/plain\r\n\r\nof the file\r\n--xyz--\r\n"
)

// requests are sent in this order: some leave a state in the program.
var requests = slices.Concat(
	heads(), answersOf(), bodies(), bindings(), fileRequests(), streams(), middlewareRequests(), streamedRequests(), settings(),
)

// one is a request of both versions. A name that begins with * is sent by default.
func one(name string, send ...string) request {
	short := strings.HasPrefix(name, "*")
	return request{name: strings.TrimPrefix(name, "*"), send: send, short: short}
}

// each makes one request of each pair of a name and what is sent.
func each(prefix string, pairs ...string) []request {
	var all []request
	for i := 0; i < len(pairs); i += 2 {
		name, star := strings.CutPrefix(pairs[i], "*")
		r := one(prefix+name, pairs[i+1])
		r.short = star
		all = append(all, r)
	}
	return all
}

// only marks requests of one version.
func only(version string, all ...request) []request {
	for i := range all {
		all[i].only = version
	}
	return all
}

// on marks requests to another application.
func on(app string, all ...request) []request {
	for i := range all {
		all[i].app = app
		all[i].name = app + " " + all[i].name
	}
	return all
}

// answered sets the number of answers to each.
func answered(n int, all ...request) []request {
	for i := range all {
		all[i].answers = n
	}
	return all
}

func heads() []request {
	return slices.Concat(each("head: ",
		"*plain", get("/plain"),
		"HEAD", head("HEAD", "/plain"),
		"HEAD of nothing", head("HEAD", "/nothing"),
		"POST where there is GET only", with("POST", "/plain", ""),
		"OPTIONS", head("OPTIONS", "/plain"),
		"OPTIONS *", head("OPTIONS", "*"),
		"TRACE", head("TRACE", "/head"),
		"an unknown method", head("BREW", "/head"),
		"a method in lower case", head("get", "/head"),
		"CONNECT", head("CONNECT", "a.example:80"),
		"*everything about the head", get("/head?q=1&r=%20", "User-Agent: u", "Accept: */*", "X-Two: a", "X-Two: b", "x-lower: c", "Referer: http://r/", "X-Forwarded-For: 1.2.3.4, 5.6.7.8", "X-Forwarded-Proto: https"),
		"spaces around a value", get("/head", "X-A:   b  ", "X-B:\tc\t", "X-Empty:", "X-C:d"),
		"bytes above 127 in a value", get("/head", "X-A: \xc3\xa9\xff"),
		"a value with a control character", get("/head", "X-A: a\x01b"),
		"a value with NUL", get("/head", "X-A: a\x00b"),
		"a name with odd characters", get("/head", "X!#$%&'*+-.^_`|~: v"),
		"a name with a bad character", get("/head", "X(: v"),
		"a space before the colon", get("/head", "X-A : v"),
		"a space in a name", get("/head", "X A: v"),
		"a line without a colon", get("/head", "nonsense"),
		"a line that begins with a colon", get("/head", ": v"),
		"a fold", get("/head", "X-A: a\r\n b"),
		"a bare CR in a value", get("/head", "X-A: a\rb"),
		"one line that ends in LF", "GET /plain HTTP/1.1\r\nHost: h\nX-A: b\r\n\r\n",
		"POST without a length", head("POST", "/head"),
		"OPTIONS without a length", head("OPTIONS", "/head"),
		"empty lines before", "\r\n\r\n"+get("/plain"),
		"no Host", "GET /plain HTTP/1.1\r\n\r\n",
		"an empty Host", "GET /head HTTP/1.1\r\nHost:\r\n\r\n",
		"two Hosts", "GET /plain HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"a Host with a port", "GET /head HTTP/1.1\r\nHost: a.example:8080\r\n\r\n",
		"a Host with a bad port", "GET /head HTTP/1.1\r\nHost: a.example:x\r\n\r\n",
		"a Host of IPv6", "GET /head HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
		"a Host with a path", "GET /head HTTP/1.1\r\nHost: a/b\r\n\r\n",
		"a Host with a user", "GET /head HTTP/1.1\r\nHost: u@a\r\n\r\n",
		"a Host with an underscore, in upper case", "GET /head HTTP/1.1\r\nHost: A_B.Example\r\n\r\n",
		"a target with a host", "GET http://other.example/head?x HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"HTTP/1.0", "GET /head HTTP/1.0\r\nHost: h\r\n\r\n",
		"*HTTP/1.0 with keep-alive", "GET /plain HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n",
		"HTTP/1.0 without a Host", "GET /head HTTP/1.0\r\n\r\n",
		"HTTP/1.2", "GET /head HTTP/1.2\r\nHost: h\r\n\r\n",
		"HTTP/2.0", "GET /plain HTTP/2.0\r\nHost: h\r\n\r\n",
		"no version", "GET /plain\r\n\r\n",
		"http/1.1 in lower case", "GET /plain http/1.1\r\nHost: h\r\n\r\n",
		"two spaces in the request line", "GET  /plain HTTP/1.1\r\nHost: h\r\n\r\n",
		"a space in the target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
		"close", get("/plain", "Connection: close"),
		"Close among others", get("/head", "Connection: x, Close"),
		"two Connection fields", get("/head", "Connection: x", "Connection: close"),
		"an upgrade that is not made", get("/plain", "Connection: Upgrade", "Upgrade: websocket"),
		"a long target", get("/echo/"+strings.Repeat("a", 3000)),
		"a target that is too long", get("/echo/"+strings.Repeat("a", 6000)),
		"a long field", get("/plain", "X-A: "+strings.Repeat("a", 3000)),
		"a head that is too long", get("/plain", "X-A: "+strings.Repeat("a", 6000)),
		"many fields", get("/plain", strings.Split(strings.Repeat("A: b\n", 200)+"C: d", "\n")...),
		"escapes in the path", get("/wild/a%20b%2Fc%3F%zz"),
		"slashes and dots in the path", get("/wild//a/./b/../c//"),
		"dots that lead out", get("/../../plain"),
		"bytes above 127 in the path", get("/wild/\xc3\xa9"),
		"a backslash in the path", get("/wild/a\\b"),
		"a fragment in the target", get("/url?q=1#f"),
		"a control character in the target", get("/wild/\x01"),
		"a URI", get("/url?a=b&c"),
		"a URI in upper case", "GET HTTP://Other.Example:80/url HTTP/1.1\r\nHost: other.example\r\n\r\n",
		"a URI of https", "GET https://other.example/url?q HTTP/1.1\r\nHost: other.example\r\n\r\n",
		"a URI without a path", "GET http://other.example HTTP/1.1\r\nHost: other.example\r\n\r\n",
		"a URI with a query and no path", "GET http://other.example?q HTTP/1.1\r\nHost: other.example\r\n\r\n",
		"a target that is no path", "GET plain HTTP/1.1\r\nHost: h\r\n\r\n",
		"a target that begins with two slashes", get("//plain"),
		"a target that is a query", get("?q"),
		"semicolons and others in the path", get("/wild/a;b=c,d:e@f&g=h+i$j!k'l(m)n*o"),
		"escapes of plain characters", get("/%70lain"),
		"escaped dots in the path", get("/wild/%2e%2e/%2E/plain"),
		"broken UTF-8 in the path", get("/wild/%ff%c3"),
		"quotes and brackets in the path", get("/wild/\"<>[]{}|^`"),
		"a long query", get("/query?a="+strings.Repeat("b", 2000)),
		"query with escapes of UTF-8", get("/query?%c3%a9=%e2%82%ac"),
		"query with an equals sign alone", get("/query?=&=b&a"),
		"an empty query", get("/query?"),
		"a Host in upper case", "GET /head HTTP/1.1\r\nHost: A.EXAMPLE:80\r\n\r\n",
		"a Host with a dot at the end", "GET /head HTTP/1.1\r\nHost: a.example.\r\n\r\n",
		"a Host that isn't ASCII", "GET /head HTTP/1.1\r\nHost: \xc3\xa9.example\r\n\r\n",
		"a Host with spaces around", "GET /head HTTP/1.1\r\nHost:  a.example \r\n\r\n",
		"a Host with a comma", "GET /head HTTP/1.1\r\nHost: a,b\r\n\r\n",
		"fields of one name apart", get("/head", "X-A: 1", "X-B: 2", "x-a: 3"),
		"several Content-Types", with("POST", "/head", "a=1", formType, jsonType),
		"several Accept-Encodings", get("/head", "Accept-Encoding: gzip", "Accept-Encoding: br"),
		"X-Forwarded fields", get("/head", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: other", "X-Forwarded-Proto: https", "Forwarded: for=1.2.3.4"),
		"TE and Trailer without a body", get("/head", "TE: trailers", "Trailer: X-A"),
		"a Cookie with spaces and semicolons", get("/cookie/get", "Cookie: ;; a = 1 ;b=;  c=d=e; f"),
		"a Cookie that isn't ASCII", get("/cookie/get", "Cookie: a=\xc3\xa9; b=%20"),
		"an empty Cookie", get("/cookie/get", "Cookie:"),
		"keep-alive", get("/head", "Connection: keep-alive"),
		"Keep-Alive and Proxy-Connection", get("/head", "Keep-Alive: timeout=5", "Proxy-Connection: close"),
		"the case of a path", get("/PLAIN/"),
		"a constraint", get("/int/x"),
		"parameters", get("/params/a%20b"),
		"parameters, both", get("/params/a/b+c"),
		"query", get("/query?a=1&b=2&a=3&c&d=%41+%zz&=e&%20f=g"),
		"query with semicolons", get("/query?a=1;b=2&&c==d"),
		"Expect of something else", with("POST", "/echo", "abc", "Expect: x"),
		"Content-Length and Transfer-Encoding", head("POST", "/echo", "Content-Length: 3", "Transfer-Encoding: chunked")+"0\r\n\r\n",
		"two lengths", head("POST", "/echo", "Content-Length: 3", "Content-Length: 4")+"abc",
		"two equal lengths", head("POST", "/echo", "Content-Length: 3", "Content-Length: 3")+"abc",
		"a negative length", head("POST", "/echo", "Content-Length: -3"),
		"a length that is no number", head("POST", "/echo", "Content-Length: x"),
		"a huge length", head("POST", "/echo", "Content-Length: 99999999999999999999"),
		"an unknown transfer coding", head("POST", "/echo", "Transfer-Encoding: gzip"),
		"identity as transfer coding", head("POST", "/echo", "Transfer-Encoding: identity"),
		"cookies", get("/cookie/get", "Cookie: a=1; b=\"q\"; c"),
		"two Cookie fields", get("/cookie/get", "Cookie: a=1", "Cookie: b=2; a=3"),
		"a cookie of JSON", get("/cookie/get", `Cookie: a={"b":1}`),
	),
		[]request{
			one("*pipeline", get("/plain")+get("/json")+head("HEAD", "/plain")+get("/nothing")+with("POST", "/echo", "abc")+get("/plain", "Connection: close")),
			one("one after the other", get("/plain"), with("POST", "/echo", "abc"), get("/nothing"), head("HEAD", "/json")),
			one("*pieces", "GET /he"+cut+"ad HTTP/1.1\r"+cut+"\nHost: a.ex"+cut+"ample\r\nX-A"+cut+": b\r\n\r"+cut+"\n"),
			one("pieces of a body", head("POST", "/echo", "Content-Length: 6")+cut+"ab"+cut+"cd"+cut+"ef"),
			one("pieces of chunks", head("POST", "/echo", "Transfer-Encoding: chunked")+cut+"3\r"+cut+"\nab"+cut+"c\r\n0"+cut+"\r\n\r\n"),
			{name: "head: lines that end in LF", send: []string{"GET /plain HTTP/1.1\nHost: h\n\n"}, silent: true},
			one("pipeline with a malformed request", get("/plain")+get("/plain", "nonsense")+get("/plain")),
			one("pipeline with close in it", get("/plain")+get("/json", "Connection: close")),
			one("pipeline of HEAD", head("HEAD", "/plain")+head("HEAD", "/nothing")+head("HEAD", "/static/a.txt")),
			one("pipeline with errors", get("/error/404")+get("/fail")+get("/panic")+with("POST", "/form", "a=1", formType)+get("/plain")),
			one("pipeline with a body that is too large", get("/plain")+head("POST", "/echo", "Content-Length: 70000")),
			one("pipeline with chunks", chunked("POST", "/echo", nil, "abc")+chunked("POST", "/form", []string{formType}, "a=1")+get("/plain")),
			one("pipeline of HTTP/1.0", "GET /plain HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"+get("/plain")),
			one("pipeline of streams", get("/stream/known")+get("/stream/large")+get("/stream/empty")+head("HEAD", "/stream/writer")+get("/plain")),
			one("pipeline of files", get("/static/a.txt")+get("/static/big.txt")+get("/static/none.txt")+get("/static/a.txt", "Range: bytes=1-2")),
			one("a hijack", get("/hijack", "Connection: Upgrade", "Upgrade: x")+"abcd"),
		},
	)
}

func answersOf() []request {
	var all []request
	for _, code := range []int{100, 199, 200, 201, 204, 205, 206, 301, 304, 404, 405, 418, 500, 599, 600, 999, 1000} {
		all = append(all, each("status: ",
			fmt.Sprint(code), get(fmt.Sprintf("/status/%d", code)),
			fmt.Sprint(code, " with a body"), get(fmt.Sprintf("/statusbody/%d", code)),
		)...)
	}
	for i := range all {
		all[i].silent = strings.Contains(all[i].name, ": 1")
	}
	return slices.Concat(all, each("answer: ",
		"nothing", get("/empty"),
		"HEAD of nothing", head("HEAD", "/empty"),
		"*JSON", get("/json"),
		"HEAD of JSON", head("HEAD", "/json"),
		"JSONP", get("/jsonp?callback=f"),
		"XML", get("/xml"),
		"*view", get("/view/page"),
		"a view that isn't there", get("/view/other"),
		"links", get("/links"),
		"location", get("/location"),
		"vary", get("/vary"),
		"attachment", get("/attachment"),
		"type", get("/type/html"),
		"an unknown type", get("/type/unknown"),
		"accepts", get("/accepts", "Accept: text/html;q=0.5, application/json", "Accept-Charset: latin1", "Accept-Encoding: gzip, br;q=0", "Accept-Language: de, en;q=0.5"),
		"accepts nothing", get("/accepts", "Accept: text/plain"),
		"fresh", get("/fresh", `If-None-Match: "x"`),
		"stale", get("/fresh", `If-None-Match: "y"`),
		"fresh by time", get("/fresh", "If-Modified-Since: Tue, 02 Jan 2024 03:04:05 GMT"),
		"range", get("/range", "Range: bytes=0-9,20-"),
		"a range that can't be satisfied", get("/range", "Range: bytes=200-"),
		"a malformed range", get("/range", "Range: lines=1-2"),
		"*error", get("/error/403"),
		"HEAD of an error", head("HEAD", "/error/403"),
		"error of an unknown status", get("/error/799"),
		"a plain error", get("/fail"),
		"an error of the context", get("/ctxerror"),
		"NotFound of the context", get("/notfound"),
		"nothing there", get("/nothing/at/all?q=<x>"),
		"redirect", get("/redirect?u=/x%3Fa%3Db"),
		"redirect to another site", get("/redirect?u=https://b.example/x"),
		"redirect with spaces", get("/redirect?u=/a%20b"),
		"redirect with a new line", get("/redirect?u=/a%0d%0aX:%20y"),
		"redirect back", get("/redirect/back", "Referer: http://a.example/from"),
		"redirect back to the fallback", get("/redirect/back"),
		"redirect to a route", get("/redirect/route"),
		"redirect of the context", get("/ctxredirect?u=../x"),
		"redirect of the context to a site", get("/ctxredirect?u=//b.example"),
		"redirect of the context to something else", get("/ctxredirect?u=mailto:a@b"),
		"redirect of the context to a backslash", get("/ctxredirect?u=/%5Cevil"),
		"set a field", get("/set?v=a%20b"),
		"set a field with a new line", get("/set?v=a%0d%0aX-B:%20c"),
		"set a field with control characters", get("/set?v=a%01%00b"),
		"set a name with a space", get("/set?k=X%20Y&v=c"),
		"set Connection", get("/set?k=Connection&v=close"),
		"set Connection to something", get("/set?k=Connection&v=x"),
		"set Date", get("/set?k=Date&v=Tue,%2002%20Jan%202024%2003:04:05%20GMT"),
		"set Server", get("/set?k=Server&v=s"),
		"set Content-Length", get("/set?k=Content-Length&v=100"),
		"set Transfer-Encoding", get("/set?k=Transfer-Encoding&v=chunked"),
		"set Content-Type to nothing", get("/set?k=Content-Type&v="),
		"set a name in lower case", get("/set?k=x-lower-case&v=1"),
		"set Trailer", get("/set?k=Trailer&v=X-Sum"),
		"set Set-Cookie", get("/set?k=Set-Cookie&v=a%3Db;%20Path=/"),
		"set Content-Encoding", get("/set?k=Content-Encoding&v=gzip"),
		"several of a name, then Set", get("/add"),
		"close", get("/close"),
		"a length by hand", get("/length"),
		"HEAD with a length by hand", head("HEAD", "/length"),
		"ImmediateHeaderFlush", get("/immediate"),
		"TimeoutError", get("/timeouterror"),
		"set cookies", get("/cookie/set"),
		"set a cookie with odd characters", get("/cookie/set?v=a%3Bb%22%20c"),
		"clear cookies", get("/cookie/clear", "Cookie: a=1; b=2"),
		"a panic with recover", get("/panic"),
		"large", get("/text/50000"),
		"HTTP/1.0", "GET /json HTTP/1.0\r\nHost: h\r\n\r\n",
	), []request{{name: "answer: SkipBody", send: []string{get("/skipbody")}, silent: true}}, only("fiber3", each("answer: ",
		"early hints", get("/early"),
		"a flash message", get("/redirect/flash"),
		"a flash message that comes back", get("/flash", "Cookie: fiber_flash=x"),
		"end", get("/end"),
	)...), only("fiber3", answered(1, each("answer: ", "drop", get("/drop"))...)...))
}

func bodies() []request {
	return slices.Concat(each("body: ",
		"*POST", with("POST", "/echo", "abc"),
		"PUT", with("PUT", "/echo", "abc"),
		"GET with a body", with("GET", "/echo", "abc"),
		"DELETE with a body", with("DELETE", "/echo", "abc"),
		"HEAD with a body", with("HEAD", "/echo", "abc"),
		"no length", head("POST", "/echo"),
		"*chunked", chunked("POST", "/echo", nil, "abc", "defg"),
		"chunked, nothing", chunked("POST", "/echo", nil),
		"chunked GET", chunked("GET", "/echo", nil, "abc"),
		"chunked HTTP/1.0", strings.Replace(chunked("POST", "/echo", nil, "abc"), "HTTP/1.1", "HTTP/1.0", 1),
		"extensions of chunks", head("POST", "/echo", "Transfer-Encoding: chunked")+"3;a=b\r\nabc\r\n0\r\n\r\n",
		"a bad extension", head("POST", "/echo", "Transfer-Encoding: chunked")+"3;a=\r\nabc\r\n0\r\n\r\n",
		"a space after a chunk's size", head("POST", "/echo", "Transfer-Encoding: chunked")+"3 \r\nabc\r\n0\r\n\r\n",
		"a bad chunk's size", head("POST", "/echo", "Transfer-Encoding: chunked")+"x\r\nabc\r\n0\r\n\r\n",
		"a chunk that is too long", head("POST", "/echo", "Transfer-Encoding: chunked")+"3\r\nabcd\r\n0\r\n\r\n",
		"chunks that end in LF", head("POST", "/echo", "Transfer-Encoding: chunked")+"3\nabc\n0\n\n",
		"trailers", head("POST", "/head", "Transfer-Encoding: chunked", "Trailer: X-Sum")+"3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n",
		"a forbidden trailer", head("POST", "/head", "Transfer-Encoding: chunked")+"3\r\nabc\r\n0\r\nContent-Length: 1\r\n\r\n",
		"encoded", with("POST", "/echo", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x4b\x4c\x4a\x06\x00\xc2\x41\x24\x35\x03\x00\x00\x00", "Content-Encoding: gzip"),
		"wrongly encoded", with("POST", "/echo", "abc", "Content-Encoding: gzip"),
		"an unknown encoding", with("POST", "/echo", "abc", "Content-Encoding: x"),
		"too large", head("POST", "/echo", "Content-Length: 70000"),
		"*too large, Expect", head("POST", "/echo", "Content-Length: 70000", "Expect: 100-continue"),
		"too large in chunks", chunked("POST", "/echo", nil, strings.Repeat("a", 30000), strings.Repeat("b", 40000)),
		"large", with("POST", "/echo", strings.Repeat("a", 60000)),
		"*Expect with the body", with("POST", "/echo", "abc", "Expect: 100-continue"),
		"Expect without a body", get("/echo", "Expect: 100-continue"),
		"Expect of HTTP/1.0", strings.Replace(with("POST", "/echo", "abc", "Expect: 100-continue"), "HTTP/1.1", "HTTP/1.0", 1),
		"*form", with("POST", "/form", "a=1&b=%20+x&c", formType),
		"a form in chunks", chunked("POST", "/form", []string{formType}, "a=1&", "b=2"),
		"a form with a charset", with("POST", "/form", "a=1", formType+"; charset=utf-8"),
		"a form in upper case", with("POST", "/form", "a=1", "Content-Type: APPLICATION/X-WWW-FORM-URLENCODED"),
		"a form that isn't one", with("POST", "/form", "a=1", "Content-Type: text/plain"),
		"a form of the query", with("POST", "/form?a=q", "b=1", formType),
		"a broken form", with("POST", "/form", "%zz=%&&a==&=", formType),
		"*multipart", with("POST", "/multipart", parts, partsType),
		"multipart in chunks", chunked("POST", "/multipart", []string{partsType}, parts[:50], parts[50:]),
		"multipart with another boundary", with("POST", "/multipart", parts, "Content-Type: multipart/form-data; boundary=other"),
		"multipart without a boundary", with("POST", "/multipart", parts, "Content-Type: multipart/form-data"),
		"multipart that is cut off", with("POST", "/multipart", parts[:80], partsType),
		"multipart that is cut off, in chunks", chunked("POST", "/multipart", []string{partsType}, parts[:80]),
		"multipart, nothing", with("POST", "/multipart", "", partsType),
		"a quoted boundary", with("POST", "/multipart", parts, `Content-Type: multipart/form-data; boundary="xyz"`),
		"multipart to another handler", with("POST", "/echo", parts, partsType),
		"broken multipart to another handler", with("POST", "/echo", parts[:80], partsType),
		"no multipart", with("POST", "/multipart", "abc", "Content-Type: text/plain"),
		"*save a file", with("POST", "/save", parts, partsType),
		"no file to save", with("POST", "/save", strings.Replace(parts, `name="f"`, `name="g"`, 1), partsType),
		"FormValue of multipart", with("POST", "/form", parts, partsType),
	),
		[]request{
			one("Expect, then the body", head("POST", "/echo", "Content-Length: 3", "Expect: 100-continue")+asked+"abc"),
			one("Expect, then chunks", head("POST", "/echo", "Transfer-Encoding: chunked", "Expect: 100-continue")+asked+"3\r\nabc\r\n0\r\n\r\n"),
			one("a body that is not read, then more", with("POST", "/unlisted/a.txt", "abc")+get("/plain")),
		},
	)
}

func bindings() []request {
	return each("bind: ",
		"*query", get("/bind/query?name=n&age=3&tags=a&tags=b"),
		"bad query", get("/bind/query?age=x"),
		"*JSON", with("POST", "/bind/body", `{"name":"n","age":3,"tags":["a"]}`, jsonType),
		"bad JSON", with("POST", "/bind/body", `{"name":`, jsonType),
		"JSON of the wrong type", with("POST", "/bind/body", `{"age":"x"}`, jsonType),
		"JSON with a charset", with("POST", "/bind/body", `{"name":"n"}`, jsonType+"; charset=utf-8"),
		"JSON in chunks", chunked("POST", "/bind/body", []string{jsonType}, `{"name"`, `:"n"}`),
		"no JSON", with("POST", "/bind/body", "", jsonType),
		"form", with("POST", "/bind/body", "name=n&age=3&tags=a&tags=b", formType),
		"multipart", with("POST", "/bind/body", strings.Replace(parts, `"a"`, `"name"`, 1), partsType),
		"XML", with("POST", "/bind/body", "<thing><name>n</name></thing>", "Content-Type: application/xml"),
		"an unknown type", with("POST", "/bind/body", "abc", "Content-Type: x/y"),
		"no type", with("POST", "/bind/body", "abc"),
		"*header", get("/bind/header", "X-Name: n", "X-Age: 3", "X-Tags: a", "X-Tags: b"),
		"cookie", get("/bind/cookie", "Cookie: name=n; age=3"),
		"bad cookie", get("/bind/cookie", "Cookie: age=x"),
		"parameters", get("/bind/uri/n/3"),
		"bad parameters", get("/bind/uri/n/x"),
	)
}

func fileRequests() []request {
	modified := modified.Format("Mon, 02 Jan 2006 15:04:05 GMT")
	all := each("file: ",
		"*file", get("/static/a.txt"),
		"HEAD", head("HEAD", "/static/a.txt"),
		"POST", with("POST", "/static/a.txt", ""),
		"nothing there", get("/static/none.txt"),
		"a folder with an index", get("/static/site/"),
		"a folder without a slash", get("/static/site"),
		"a folder without a slash, with a query", get("/static/list?q=1"),
		"*a listing", get("/static/list/"),
		"the listing of the root", get("/static/"),
		"the root without a slash", get("/static"),
		"a listing of a folder in a folder", get("/static/list/sub/"),
		"a file with a slash", get("/static/a.txt/"),
		"an escape", get("/static/a%20b.txt"),
		"a question mark", get("/static/q%3F.txt"),
		"dots", get("/static/../plain"),
		"escaped dots", get("/static/%2e%2e/%2e%2e/etc/passwd"),
		"a backslash", get("/static/..\\a.txt"),
		"NUL", get("/static/a%00.txt"),
		"a hidden file", get("/static/.hidden"),
		"an empty file", get("/static/empty"),
		"*range", get("/static/a.txt", "Range: bytes=2-5"),
		"the last bytes", get("/static/a.txt", "Range: bytes=-5"),
		"from there on", get("/static/a.txt", "Range: bytes=15-"),
		"two ranges", get("/static/a.txt", "Range: bytes=0-1,5-6"),
		"a range that can't be satisfied", get("/static/a.txt", "Range: bytes=50-"),
		"a malformed range", get("/static/a.txt", "Range: bytes=x"),
		"a range of another unit", get("/static/a.txt", "Range: lines=1-2"),
		"HEAD with a range", head("HEAD", "/static/a.txt", "Range: bytes=2-5"),
		"the last bytes of nothing", get("/static/empty", "Range: bytes=-5"),
		"If-Range", get("/static/a.txt", "Range: bytes=2-5", "If-Range: "+modified),
		"If-Range of another time", get("/static/a.txt", "Range: bytes=2-5", "If-Range: Tue, 02 Jan 2018 03:04:05 GMT"),
		"not modified", get("/static/a.txt", "If-Modified-Since: "+modified),
		"modified", get("/static/a.txt", "If-Modified-Since: Tue, 02 Jan 2018 03:04:05 GMT"),
		"a malformed time", get("/static/a.txt", "If-Modified-Since: x"),
		"If-Unmodified-Since", get("/static/a.txt", "If-Unmodified-Since: Tue, 02 Jan 2018 03:04:05 GMT"),
		"If-Match", get("/static/a.txt", `If-Match: "x"`),
		"If-None-Match *", get("/static/a.txt", "If-None-Match: *"),
		"If-None-Match and a time", get("/static/a.txt", `If-None-Match: "x"`, "If-Modified-Since: "+modified),
		"HTTP/1.0", "GET /static/a.txt HTTP/1.0\r\n\r\n",
		"*compressed", get("/compressed/big.txt", "Accept-Encoding: gzip"),
		"compressed with br", get("/compressed/big.txt", "Accept-Encoding: gzip, br"),
		"compressed, any", get("/compressed/big.txt", "Accept-Encoding: *"),
		"compressed, by weight", get("/compressed/big.txt", "Accept-Encoding: gzip;q=0.5, br;q=0.1"),
		"not compressed", get("/compressed/big.txt"),
		"compressed, not wanted", get("/compressed/big.txt", "Accept-Encoding: gzip;q=0"),
		"too small to compress", get("/compressed/a.txt", "Accept-Encoding: gzip"),
		"compressed, not modified", get("/compressed/big.txt", "Accept-Encoding: gzip", "If-Modified-Since: "+modified),
		"HEAD of compressed", head("HEAD", "/compressed/big.txt", "Accept-Encoding: gzip"),
		"a folder that isn't listed", get("/unlisted/list/"),
		"an index that isn't listed", get("/unlisted/site/"),
		"*embedded", get("/embedded/a.txt"),
		"embedded, nothing there", get("/embedded/none.txt"),
		"embedded, a listing", get("/embedded/list/"),
		"embedded, an index", get("/embedded/site/"),
		"embedded, HEAD", head("HEAD", "/embedded/big.txt"),
		"*SendFile", get("/sendfile/a.txt"),
		"SendFile, nothing there", get("/sendfile/none.txt"),
		"SendFile of a folder", get("/sendfile/list"),
		"SendFile with a range", get("/sendfile/a.txt", "Range: bytes=2-5"),
		"SendFile, not modified", get("/sendfile/a.txt", "If-Modified-Since: "+modified),
		"SendFile with an escape", get("/sendfile/a%20b.txt"),
		"SendFile of JSON", get("/sendfile/data.json"),
		"SendFile compressed", get("/sendcompressed/big.txt", "Accept-Encoding: br"),
		"*download", get("/download/a.txt"),
		"download under a name with a quote", get("/download/a.txt?as=%22%C3%A9.txt"),
		"download of nothing", get("/download/none.txt"),
	)
	return all
}

func streams() []request {
	return slices.Concat(each("stream: ",
		"*writer", get("/stream/writer"),
		"HEAD of a writer", head("HEAD", "/stream/writer"),
		"a writer for HTTP/1.0", "GET /stream/writer HTTP/1.0\r\nHost: h\r\n\r\n",
		"a writer for HTTP/1.0 with keep-alive", "GET /stream/writer HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n",
		"known length", get("/stream/known"),
		"unknown length", get("/stream/unknown"),
		"a buffer", get("/stream/buffer"),
		"HEAD of a known length", head("HEAD", "/stream/known"),
		"nothing", get("/stream/empty"),
		"shorter than its size", get("/stream/short"),
		"longer than its size", get("/stream/long"),
		"large", get("/stream/large"),
		"a broken stream", get("/stream/broken"),
		"a trailer", get("/stream/trailer"),
	), []request{one("a stream, then another", get("/stream/writer")+get("/stream/known"))})
}

func middlewareRequests() []request {
	basic := "Authorization: Basic dTpw" // u:p
	csrfToken := "csrf" + fmt.Sprintf("%028d", 1)
	all := slices.Concat(each("adaptor: ",
		"*handler", with("POST", "/adaptor/handler?q=1", "abc"),
		"status", get("/adaptor/func?code=404"),
		"status 204", get("/adaptor/func?code=204"),
		"status 304", get("/adaptor/func?code=304"),
		"HEAD", head("HEAD", "/adaptor/func"),
		"chunked", chunked("POST", "/adaptor/handler", nil, "abc"),
		"flush", get("/adaptor/flush"),
		"error", get("/adaptor/error"),
		"redirect", get("/adaptor/redirect"),
		"a file", get("/adaptor/files/a.txt"),
		"a range of a file", get("/adaptor/files/a.txt", "Range: bytes=2-5"),
		"a folder", get("/adaptor/files/site"),
		"*of Fiber", with("POST", "/adaptor/fiber", "abc"),
		"*middleware", with("POST", "/adaptor/middleware", "abc", "X-A: b"),
		"middleware that denies", get("/adaptor/middleware", "X-Deny: 1"),
	), each("basicauth: ",
		"*right", get("/basicauth", basic),
		"wrong", get("/basicauth", "Authorization: Basic dTp4"),
		"nothing", get("/basicauth"),
		"malformed", get("/basicauth", "Authorization: Basic !"),
		"another scheme", get("/basicauth", "Authorization: Bearer x"),
	), each("cache: ",
		"*miss", get("/cache?a"),
		"*hit", get("/cache?a"),
		"no-cache", get("/cache?a", "Cache-Control: no-cache"),
		"HEAD", head("HEAD", "/cache?a"),
		"POST", with("POST", "/cache?a", "x"),
		"private", get("/cache?cc=private"),
		"private again", get("/cache?cc=private"),
		"max-age", get("/cache?cc=max-age%3D60"),
		"max-age again", get("/cache?cc=max-age%3D60"),
		"vary", get("/cache?vary=X-A", "X-A: 1"),
		"vary again", get("/cache?vary=X-A", "X-A: 2"),
		"an error", get("/cache?code=500"),
		"an error again", get("/cache?code=500"),
		"only-if-cached", get("/cache?never", "Cache-Control: only-if-cached"),
	), each("compress: ",
		"*gzip", get("/compress/text/2000", "Accept-Encoding: gzip"),
		"deflate", get("/compress/text/2000", "Accept-Encoding: deflate"),
		"br", get("/compress/text/2000", "Accept-Encoding: gzip, deflate, br"),
		"zstd", get("/compress/text/2000", "Accept-Encoding: zstd"),
		"any", get("/compress/text/2000", "Accept-Encoding: *"),
		"by weight", get("/compress/text/2000", "Accept-Encoding: br;q=0.1, gzip;q=0.9"),
		"not gzip", get("/compress/text/2000", "Accept-Encoding: gzip;q=0"),
		"nothing", get("/compress/text/2000"),
		"small", get("/compress/text/20", "Accept-Encoding: gzip"),
		"HEAD", head("HEAD", "/compress/text/2000", "Accept-Encoding: gzip"),
		"JSON", get("/compress/json", "Accept-Encoding: gzip"),
		"a picture", get("/compress/type?t=image/png", "Accept-Encoding: gzip"),
		"an archive", get("/compress/type?t=application/zip", "Accept-Encoding: gzip"),
		"a type in upper case", get("/compress/type?t=TEXT/HTML", "Accept-Encoding: gzip"),
		"no-transform", get("/compress/type?t=text/html&cc=no-transform", "Accept-Encoding: gzip"),
		"a stream", get("/compress/stream", "Accept-Encoding: gzip"),
		"an error", get("/compress/status/500", "Accept-Encoding: gzip"),
		"206", get("/compress/status/206", "Accept-Encoding: gzip"),
		"204", get("/compress/status/204", "Accept-Encoding: gzip"),
		"a file", get("/compress/static/big.txt", "Accept-Encoding: gzip"),
		"a range of a file", get("/compress/static/big.txt", "Accept-Encoding: gzip", "Range: bytes=0-1000"),
		"encoded already", get("/set?k=Content-Encoding&v=x", "Accept-Encoding: gzip"),
	), each("cors: ",
		"*allowed", get("/cors", "Origin: https://a.example"),
		"a subdomain", get("/cors", "Origin: https://x.b.example"),
		"not allowed", get("/cors", "Origin: https://evil.example"),
		"no origin", get("/cors"),
		"*preflight", head("OPTIONS", "/cors", "Origin: https://a.example", "Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: X-A"),
		"preflight that is refused", head("OPTIONS", "/cors", "Origin: https://evil.example", "Access-Control-Request-Method: PUT"),
		"any origin", get("/corsany", "Origin: https://a.example"),
		"preflight of any origin", head("OPTIONS", "/corsany", "Origin: https://a.example", "Access-Control-Request-Method: PUT"),
	), each("csrf: ",
		"*a token", get("/csrf"),
		"*the token", with("POST", "/csrf", "", "X-Csrf-Token: "+csrfToken, "Cookie: csrf_="+csrfToken),
		"no token", with("POST", "/csrf", ""),
		"a wrong token", with("POST", "/csrf", "", "X-Csrf-Token: x", "Cookie: csrf_="+csrfToken),
	), each("earlydata: ",
		"*no", get("/earlydata"),
		"early", get("/earlydata", "Early-Data: 1"),
		"early POST", with("POST", "/earlydata", "", "Early-Data: 1"),
	), each("encryptcookie: ",
		"*set", get("/encryptcookie"),
		"*read", get("/encryptcookie", "Cookie: secret=cba; open=def"),
		"a bad one", get("/encryptcookie", "Cookie: secret=bad; open=def; other=x"),
	), each("envvar: ",
		"*get", get("/envvar"),
		"POST", with("POST", "/envvar", ""),
	), each("etag: ",
		"*tag", get("/etag"),
		"*the same", get("/etag", `If-None-Match: "6-1283331692"`),
		"any", get("/etag", "If-None-Match: *"),
		"weak", get("/etagweak"),
		"HEAD", head("HEAD", "/etag"),
		"its own", get("/etag/own"),
		"its own, the same", get("/etag/own", `If-None-Match: W/"own"`),
		"an error", get("/etag/error"),
		"a stream", get("/etag/stream"),
	), each("expvar: ",
		"*pattern", get("/debug/vars?r=^none$"),
		"a bad pattern", get("/debug/vars?r=("),
		"another path", get("/debug/vars/x"),
	), each("pprof: ",
		"*cmdline", get("/debug/pprof/cmdline?none"),
		"nothing there", get("/debug/pprof/none"),
		"symbol", get("/debug/pprof/symbol"),
		"without a slash", get("/debug/pprof"),
		"a prefix", get("/prefix/debug/pprof/symbol"),
	), each("favicon: ",
		"*icon", get("/favicon.ico"),
		"HEAD", head("HEAD", "/favicon.ico"),
		"POST", with("POST", "/favicon.ico", ""),
		"OPTIONS", head("OPTIONS", "/favicon.ico"),
	), each("healthcheck: ",
		"*alive", get("/livez"),
		"*not ready", get("/readyz"),
		"POST", with("POST", "/livez", ""),
	), each("helmet: ",
		"*get", get("/helmet"),
		"https", get("/helmet", "X-Forwarded-Proto: https"),
	), only("fiber3", each("hostauthorization: ",
		"*allowed", get("/hostauthorization"),
		"subdomain", "GET /hostauthorization HTTP/1.1\r\nHost: x.b.example:80\r\n\r\n",
		"an address", "GET /hostauthorization HTTP/1.1\r\nHost: 10.1.2.3\r\n\r\n",
		"not allowed", "GET /hostauthorization HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"a dot at the end", "GET /hostauthorization HTTP/1.1\r\nHost: A.Example.\r\n\r\n",
	)...), each("idempotency: ",
		"*first", with("POST", "/idempotency", "x", "X-Idempotency-Key: 00000000-0000-0000-0000-000000000001"),
		"*again", with("POST", "/idempotency", "x", "X-Idempotency-Key: 00000000-0000-0000-0000-000000000001"),
		"a bad key", with("POST", "/idempotency", "x", "X-Idempotency-Key: 1"),
		"no key", with("POST", "/idempotency", "x"),
	), each("keyauth: ",
		"*right", get("/keyauth", "Authorization: Bearer good"),
		"wrong", get("/keyauth", "Authorization: Bearer bad"),
		"nothing", get("/keyauth"),
		"another scheme", get("/keyauth", basic),
	), []request{
		one("*limiter: fixed", get("/limiter/fixed", "X-Key: a"), get("/limiter/fixed", "X-Key: a"), get("/limiter/fixed", "X-Key: a"), get("/limiter/fixed", "X-Key: b")),
		one("limiter: sliding", get("/limiter/sliding", "X-Key: a"), get("/limiter/sliding", "X-Key: a"), get("/limiter/sliding", "X-Key: a")),
		one("limiter: failed requests", get("/limiter/failed?fail=1", "X-Key: a"), get("/limiter/failed", "X-Key: a"), get("/limiter/failed?fail=1", "X-Key: a"), get("/limiter/failed?fail=1", "X-Key: a")),
		one("*logger", with("POST", "/logger?q=1", "f=2", formType, "User-Agent: u", "Referer: r", "X-A: a", "Cookie: c=3"), get("/logged")),
		one("logger of an error", get("/logger?fail=1"), get("/logged")),
		one("logger of HTTP/1.0 and HEAD", "HEAD /logger HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n", get("/logged")),
	}, only("fiber2", each("monitor: ",
		"*page", get("/monitor"),
		"POST", with("POST", "/monitor", ""),
	)...), only("fiber3", each("paginate: ",
		"*page", get("/paginate?page=3&limit=5&sort=name,-id"),
		"bad values", get("/paginate?page=-1&limit=x&sort=none"),
	)...), each("proxy: ",
		"*balancer", with("POST", "/proxy/balancer/echo/x?q=1", "abc", "X-A: b", "Connection: keep-alive, X-Hop", "X-Hop: 1", "TE: trailers", "User-Agent: u"),
		"balancer GET", get("/proxy/balancer/echo/y", "Accept-Encoding: gzip"),
		"balancer HEAD", head("HEAD", "/proxy/balancer/echo/y"),
		"balancer chunked", chunked("POST", "/proxy/balancer/echo/y", nil, "abc"),
		"balancer close", get("/proxy/balancer/close"),
		"balancer of an error", get("/proxy/balancer/fail"),
		"balancer, nothing there", get("/proxy/balancer/none"),
		"forward", with("POST", "/proxy/forward", "abc"),
		"balancer forward", with("POST", "/proxy/bforward/x", "abc"),
		"another domain", get("/proxy/domain/x"),
		"the domain", "GET /proxy/domain/x HTTP/1.1\r\nHost: domain.example\r\n\r\n",
		"*do", with("PUT", "/proxy/do/echo/z", "abc"),
		"do a stream", get("/proxy/do/stream/writer"),
		"do a short stream", get("/proxy/do/stream/short"),
		"do a redirect", get("/proxy/do/hop/1"),
		"timeout", get("/proxy/timeout/echo/t"),
		"redirects", get("/proxy/redirects/hop/2"),
		"too many redirects", get("/proxy/redirects/hop/4"),
		"HTTP/1.0", "GET /proxy/do/echo/z HTTP/1.0\r\nHost: h\r\n\r\n",
	), each("recover: ",
		"*panic", get("/recover/panic"),
		"panic with an error", get("/recover/error"),
	), each("redirect: ",
		"*moved", get("/old/a/b"),
		"with a query", get("/old/a?q=1"),
		"HEAD", head("HEAD", "/old/a"),
	), each("requestid: ",
		"*new", get("/requestid"),
		"of the client", get("/requestid", "X-Request-ID: mine"),
	), only("fiber3", each("responsetime: ", "*get", get("/responsetime"))...), each("rewrite: ",
		"*get", get("/rewrite/a?q=1"),
		"with an escape", get("/rewrite/a%20b"),
	), []request{
		one("*session: new", get("/session")),
		one("*session: known", get("/session", "Cookie: session_id=session"+fmt.Sprintf("%028d", 1)), get("/session", "Cookie: session_id=session"+fmt.Sprintf("%028d", 1))),
		one("session: unknown", get("/session", "Cookie: session_id=none")),
		one("session: regenerate", get("/session/regenerate", "Cookie: session_id=session"+fmt.Sprintf("%028d", 1))),
		one("session: destroy", get("/session/destroy", "Cookie: session_id=session"+fmt.Sprintf("%028d", 2))),
	}, each("skip: ",
		"*not skipped", get("/skip"),
		"skipped", get("/skip?skip=1"),
	), only("fiber3", each("sse: ",
		"*events", get("/sse", "Last-Event-ID: 7"),
		"HTTP/1.0", "GET /sse HTTP/1.0\r\nHost: h\r\n\r\n",
		"HEAD", head("HEAD", "/sse"),
	)...), each("timeout: ",
		"*in time", get("/timeout/fast"),
		"late", get("/timeout?late=1"),
	), each("mount: ",
		"*get", get("/mounted/plain"),
		"error", get("/mounted/fail"),
		"nothing there", get("/mounted/none"),
		"group", get("/group/x"),
	))
	return all
}

func streamedRequests() []request {
	return on("stream", slices.Concat(each("",
		"*body", with("POST", "/echo", "abc"),
		"body in chunks", chunked("POST", "/echo", nil, "abc", "def"),
		"*stream", with("POST", "/stream", strings.Repeat("a", 20000)),
		"stream in chunks", chunked("POST", "/stream", nil, strings.Repeat("a", 5000), strings.Repeat("b", 5000)),
		"stream of nothing", with("POST", "/stream", ""),
		"too large", with("POST", "/stream", strings.Repeat("a", 70000)),
		"too large, in chunks", chunked("POST", "/stream", nil, strings.Repeat("a", 40000), strings.Repeat("b", 40000)),
		"too large for Body", with("POST", "/echo", strings.Repeat("a", 70000)),
		"too large in chunks for Body", chunked("POST", "/echo", nil, strings.Repeat("a", 40000), strings.Repeat("b", 40000)),
		"unread", with("POST", "/unread", "abc"),
		"unread, large", with("POST", "/unread", strings.Repeat("a", 60000)),
		"Expect", with("POST", "/stream", "abc", "Expect: 100-continue"),
		"Expect, unread", with("POST", "/unread", "abc", "Expect: 100-continue"),
		"form", with("POST", "/form", "a=1", formType),
		"*multipart", with("POST", "/multipart", parts, partsType),
		"multipart that is cut off", with("POST", "/multipart", parts[:80], partsType),
		"a bad chunk", head("POST", "/echo", "Transfer-Encoding: chunked")+"3\r\nabc\r\nx\r\n",
		"a bad chunk for a stream", head("POST", "/stream", "Transfer-Encoding: chunked")+"3\r\nabc\r\nx\r\n",
	), []request{
		one("Expect, then the body", head("POST", "/stream", "Content-Length: 3", "Expect: 100-continue")+asked+"abc"),
		one("pipeline", with("POST", "/stream", "abc")+with("POST", "/unread", "abc")+with("POST", "/echo", "abc")),
	})...)
}

func settings() []request {
	return on("own", slices.Concat(each("",
		"*plain", get("/plain"),
		"HEAD", head("HEAD", "/plain"),
		"strict routing", get("/plain/"),
		"case", get("/Plain"),
		"unescaped", get("/params/a%20b%2Fc"),
		"error", get("/error/403"),
		"a plain error", get("/fail"),
		"a malformed head", get("/plain", "nonsense"),
		"HTTP/1.0 with keep-alive", "GET /plain HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
	))...)
}
