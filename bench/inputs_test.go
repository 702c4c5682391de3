package bench

import (
	"fmt"
	"strings"
)

// field is one field line of a request or a response.
type field struct{ name, value string }

// lines returns fields as they go over the wire.
func lines(fields []field) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f.name + ": " + f.value + "\r\n")
	}
	return b.String()
}

// request returns a GET request with these fields.
func request(fields []field) string {
	return "GET /some/path?id=1 HTTP/1.1\r\n" + lines(fields) + "\r\n"
}

// small is the shortest request there is.
var small = []field{{"Host", "www.example.com"}}

// browser is what a browser sends for a page; the first n of it make shorter
// heads of names that every implementation knows.
var browser = []field{
	{"Host", "www.example.com"},
	{"User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"},
	{"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"},
	{"Accept-Encoding", "gzip, deflate, br, zstd"},
	{"Accept-Language", "en-US,en;q=0.9,de;q=0.8"},
	{"Connection", "keep-alive"},
	{"Cookie", "session=0123456789abcdef0123456789abcdef; theme=dark; csrftoken=abcdefghijklmnopqrstuvwxyz"},
	{"Referer", "https://www.example.com/an/earlier/page"},
	{"Cache-Control", "max-age=0"},
	{"If-None-Match", `"33a64df551425fcc55e4d42a148795d9f25f89d4"`},
	{"Upgrade-Insecure-Requests", "1"},
	{"Sec-Fetch-Site", "same-origin"},
	{"Sec-Fetch-Mode", "navigate"},
	{"Sec-Fetch-Dest", "document"},
	{"Pragma", "no-cache"},
	{"Origin", "https://www.example.com"},
}

// custom returns n fields with unknown names, after a Host.
func custom(n int) []field {
	fields := []field{browser[0]}
	for i := 1; i < n; i++ {
		fields = append(fields, field{fmt.Sprintf("X-Custom-Name-%d", i), fmt.Sprintf("the value of field number %d", i)})
	}
	return fields
}

// known returns n fields of the browser's; beyond those that it sends, half of what is
// added has unknown names.
func known(n int) []field {
	if n <= len(browser) {
		return browser[:n:n]
	}
	return append(browser[:len(browser):len(browser)], custom(n - len(browser) + 1)[1:]...)
}

// extraRequest and extraResponse are what proxies and applications add.
var (
	extraRequest = []field{
		{"X-Request-Id", "0123456789abcdef0123456789abcdef"},
		{"X-Forwarded-For", "203.0.113.195, 198.51.100.178"},
		{"X-Tenant", "0123456789abcdef"},
		{"Authorization", "Bearer abcdefghijklmnopqrstuvwxyz012345"},
	}
	extraResponse = []field{
		{"X-Request-Id", "0123456789abcdef0123456789abcdef"},
		{"X-Tenant", "0123456789abcdef"},
		{"Cache-Control", "private, max-age=60"},
		{"X-Frame-Options", "DENY"},
	}
)

// The answer of every handler.
const (
	contentType = "text/plain"
	body        = "Hello, world!"
)

var bodyBytes = []byte(body)
