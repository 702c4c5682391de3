package steps

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// lists are the fields whose values are lists, or have parameters, each with an ordinary
// element and the separator. Both sides of a connection get all of them.
var lists = map[string]struct{ element, separator string }{
	"Accept":                              {"text/html;q=0.5", ","},
	"Accept-CH":                           {"DPR", ","},
	"Accept-Charset":                      {"utf-8;q=0.5", ","},
	"Accept-Encoding":                     {"gzip;q=0.5", ","},
	"Accept-Language":                     {"en-GB;q=0.5", ","},
	"Accept-Patch":                        {"text/plain", ","},
	"Accept-Push-Policy":                  {"default", ";"},
	"Accept-Query":                        {"text/plain", ","},
	"Accept-Ranges":                       {"bytes", ","},
	"Accept-Signature":                    {"sig1=()", ","},
	"Access-Control-Allow-Headers":        {"X-A", ","},
	"Access-Control-Allow-Methods":        {"GET", ","},
	"Access-Control-Expose-Headers":       {"X-A", ","},
	"Access-Control-Request-Headers":      {"x-a", ","},
	"Allow":                               {"GET", ","},
	"Alt-Svc":                             {`h2=":443"; ma=60`, ","},
	"Authorization":                       {`a="b"`, ","},
	"Cache-Control":                       {`private="a"`, ","},
	"Clear-Site-Data":                     {`"cache"`, ","},
	"Connection":                          {"close", ","},
	"Content-Disposition":                 {`filename="a"`, ";"},
	"Content-Encoding":                    {"gzip", ","},
	"Content-Language":                    {"en", ","},
	"Content-Security-Policy":             {"default-src 'self'", ";"},
	"Content-Security-Policy-Report-Only": {"default-src 'self'", ";"},
	"Content-Type":                        {"multipart/form-data; boundary=a", ";"},
	"Cookie":                              {"a=b", ";"},
	"Cookie2":                             {"a=b", ";"},
	"Expect":                              {"100-continue", ","},
	"Expect-CT":                           {"max-age=1", ","},
	"Feature-Policy":                      {"camera 'none'", ";"},
	"Forwarded":                           {`for="[::1]:80";by=b`, ","},
	"If-Match":                            {`"a"`, ","},
	"If-None-Match":                       {`W/"a"`, ","},
	"Keep-Alive":                          {"timeout=5", ","},
	"Link":                                {`</a>; rel="b c"`, ","},
	"NEL":                                 {`{"a":1}`, ","},
	"Pragma":                              {"no-cache", ","},
	"Proxy-Authenticate":                  {`Basic realm="a"`, ","},
	"Proxy-Authorization":                 {`a="b"`, ","},
	"Proxy-Connection":                    {"close", ","},
	"Public-Key-Pins":                     {`pin-sha256="a"`, ";"},
	"Public-Key-Pins-Report-Only":         {`pin-sha256="a"`, ";"},
	"Push-Policy":                         {"default", ";"},
	"Range":                               {"0-0", ","},
	"Referrer-Policy":                     {"origin", ","},
	"Report-To":                           {`{"a":1}`, ","},
	"Sec-WebSocket-Extensions":            {"a; b=c", ","},
	"Sec-WebSocket-Protocol":              {"a", ","},
	"Server":                              {"a/1", " "},
	"Server-Timing":                       {`a;desc="b"`, ","},
	"Set-Cookie":                          {"a=b; Path=/", ";"},
	"Signature":                           {"sig1=:a:", ","},
	"Signed-Headers":                      {"a", ","},
	"Strict-Transport-Security":           {"max-age=1", ";"},
	"TE":                                  {"gzip;q=0.5", ","},
	"Timing-Allow-Origin":                 {"*", ","},
	"Trailer":                             {"X-Sum", ","},
	"Transfer-Encoding":                   {"chunked", ","},
	"Upgrade":                             {"websocket/13", ","},
	"User-Agent":                          {"a/1", " "},
	"Vary":                                {"Accept", ","},
	"Via":                                 {"1.1 a", ","},
	"WWW-Authenticate":                    {`Basic realm="a"`, ","},
	"Warning":                             {`199 - "a"`, ","},
	"X-Forwarded-For":                     {"10.0.0.1", ","},
	"X-Forwarded-Host":                    {"a", ","},
	"X-Forwarded-Proto":                   {"http", ","},
	"X-Robots-Tag":                        {"noindex", ","},
	"X-UA-Compatible":                     {"IE=edge", ","},
	"X-XSS-Protection":                    {"mode=block", ";"},
}

// singles are the other fields that have a constant. Their values are not lists. They get
// the shapes that need no element.
var singles = strings.Fields(`
	Accept-CH-Lifetime Access-Control-Allow-Credentials Access-Control-Allow-Origin Access-Control-Max-Age
	Access-Control-Request-Method Age Content-DPR Content-Length Content-Location Content-Range
	Cross-Origin-Resource-Policy DNT DPR Date ETag Early-Data Expires From Host If-Modified-Since If-Range
	If-Unmodified-Since Index Large-Allocation Last-Event-ID Last-Modified Location Max-Forwards Origin Ping-From
	Ping-To Referer Retry-After Save-Data Sec-WebSocket-Accept Sec-WebSocket-Key Sec-WebSocket-Version SourceMap Tk
	Upgrade-Insecure-Requests Viewport-Width Width X-Content-Type-Options X-DNS-Prefetch-Control X-Download-Options
	X-Frame-Options X-Permitted-Cross-Domain-Policies X-Pingback X-Powered-By X-Requested-With`)

// Every name that the library knows is in one of the tables, so that no field can be
// added without a decision about the shapes of its values.
func TestEveryFieldHasShapes(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../../headers.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			name, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			known[name] = true
		}
		return true
	})
	if len(known) < 100 {
		t.Fatalf("headers.go has %d names only", len(known))
	}
	placed := map[string]bool{}
	for name := range lists {
		placed[name] = true
	}
	for _, name := range singles {
		if placed[name] {
			t.Errorf("%s is in both tables", name)
		}
		placed[name] = true
	}
	for name := range known {
		if !placed[name] {
			t.Errorf("%s is in no table: add it to lists, with an element, if its value is a list or has parameters", name)
		}
	}
	for name := range placed {
		if !known[name] {
			t.Errorf("%s is no name of headers.go", name)
		}
	}
}
