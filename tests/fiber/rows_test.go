package fiber

import (
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// varying are the parts of answers that are not the same in two runs of one program. The
// addresses and folders of a server are others: see anonymous.
var varying = []struct {
	what string
	hide func(*answer)
}{
	{"the time of a response", func(a *answer) {
		for i, f := range a.fields {
			a.fields[i] = hideNow("Date: ", f)
		}
		lines := strings.Split(a.interim, "\n")
		for i, f := range lines {
			lines[i] = hideNow("Date: ", f)
		}
		a.interim = strings.Join(lines, "\n")
	}},
	{"the time of a listing", func(a *answer) {
		for i, f := range a.fields {
			a.fields[i] = hideNow("Last-Modified: ", f)
		}
	}},
	{"the time that a handler took", func(a *answer) { hideNumber(a, "X-Response-Time: ") }},
	{"the seconds until a limit ends", func(a *answer) {
		hideNumber(a, "X-RateLimit-Reset: ")
		hideNumber(a, "X-Ratelimit-Reset: ")
		hideNumber(a, "Retry-After: ")
	}},
	{"the age of a cached response", func(a *answer) {
		hideNumber(a, "Age: ")
		if a.index("X-Cache") >= 0 {
			hideNumber(a, "Cache-Control: public, max-age=")
		}
	}},
}

// hideNow replaces a time that is now in a line with that beginning.
func hideNow(prefix, line string) string {
	v, ok := strings.CutPrefix(line, prefix)
	if !ok {
		return line
	}
	at, err := time.Parse(time.RFC1123, v)
	if err != nil || time.Since(at).Abs() > time.Minute {
		return line
	}
	return prefix + "now"
}

// hideNumber replaces what follows prefix if that begins with a digit.
func hideNumber(a *answer, prefix string) {
	for i, f := range a.fields {
		if v, ok := strings.CutPrefix(f, prefix); ok && v != "" && v[0] >= '0' && v[0] <= '9' {
			a.fields[i] = prefix + "N"
		}
	}
}

// A pair is the answers of both programs to one request.
type pair struct {
	request    *request
	peer, ours transcript
}

func (p *pair) equal() bool { return p.peer.equal(p.ours) }

func (p *pair) String() string {
	return "--- fasthttp\n" + p.peer.String() + "\n--- gale\n" + p.ours.String()
}

// A row of docs/moving/differences.md. Several may be about different cases of one.
type row struct {
	what string // its first cell
	// remove removes the difference that the row describes from the pair, and reports
	// whether there was one. It looks for as little as possible.
	remove func(p *pair) bool

	seen int
}

// each2 applies f to the pairs of answers that differ, and reports whether one of them
// returned true.
func each2(f func(r *request, peer, ours *answer) bool) func(p *pair) bool {
	return func(p *pair) bool {
		if len(p.peer.answers) != len(p.ours.answers) {
			return false
		}
		found := false
		for i := range p.ours.answers {
			peer, ours := &p.peer.answers[i], &p.ours.answers[i]
			if !peer.equal(*ours) && f(p.request, peer, ours) {
				found = true
			}
		}
		return found
	}
}

// instead says that fasthttp answers requests that match with one status, where Gale has
// another one. Such answers have nothing else in common. "none" stands for no answer.
func instead(match, peer, ours string) func(p *pair) bool {
	re := regexp.MustCompile(match)
	return func(p *pair) bool {
		if !re.MatchString(strings.Join(p.request.send, "")) || status(p.peer) != peer || status(p.ours) != ours {
			return false
		}
		p.peer, p.ours = transcript{}, transcript{}
		return true
	}
}

// status returns the status of the first answer.
func status(t transcript) string {
	if len(t.answers) == 0 {
		return "none"
	}
	_, s, _ := strings.Cut(t.answers[0].line, " ")
	s, _, _ = strings.Cut(s, " ")
	return s
}

// drop removes the first field of that name.
func (a *answer) drop(name string) bool {
	i := a.index(name)
	if i >= 0 {
		a.fields = slices.Delete(a.fields, i, i+1)
	}
	return i >= 0
}

// has reports whether there is a field with that value.
func (a *answer) has(name, value string) bool {
	v, ok := a.field(name)
	return ok && v == value
}

// dropBodies removes the bodies and what says how long they are.
func dropBodies(peer, ours *answer) {
	for _, a := range []*answer{peer, ours} {
		a.drop("Content-Length")
		a.body = ""
	}
}

// extra says that Gale sends that field, and fasthttp doesn't.
func extra(name, value string, when func(r *request, peer, ours *answer) bool) func(p *pair) bool {
	return each2(func(r *request, peer, ours *answer) bool {
		return peer.index(name) < 0 && ours.has(name, value) && when(r, peer, ours) && ours.drop(name)
	})
}

// texts says that both bodies match, and differ.
func texts(peer, ours string) func(p *pair) bool {
	theirs, mine := regexp.MustCompile(peer), regexp.MustCompile(ours)
	return each2(func(r *request, peer, ours *answer) bool {
		if peer.body == ours.body || !theirs.MatchString(peer.body) || !mine.MatchString(ours.body) {
			return false
		}
		dropBodies(peer, ours)
		return true
	})
}

// rewritten says that the body of fasthttp would be that of Gale after a replacement.
func rewritten(match string, by string) func(p *pair) bool {
	re := regexp.MustCompile(match)
	return each2(func(r *request, peer, ours *answer) bool {
		if peer.body == ours.body || re.ReplaceAllString(peer.body, by) != ours.body {
			return false
		}
		dropBodies(peer, ours)
		return true
	})
}

// plainOf decodes the chunks and the encoding of a body.
func plainOf(a *answer) (string, error) {
	body := a.body
	if a.has("Transfer-Encoding", "chunked") {
		body = strings.TrimSuffix(joinChunks(body), "\r\n")
	}
	var r io.Reader = strings.NewReader(body)
	var err error
	switch coding, _ := a.field("Content-Encoding"); coding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "deflate":
		r, err = zlib.NewReader(r)
	case "br":
		r = brotli.NewReader(r)
	case "zstd":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(r); err == nil {
			defer z.Close()
			r = z
		}
	default:
		err = fmt.Errorf("no coding %q", coding)
	}
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(r)
	return string(b), err
}

// joinChunks returns what is in the chunks, and after the last one.
func joinChunks(body string) string {
	var b strings.Builder
	for {
		line, rest, _ := strings.Cut(body, "\r\n")
		n, err := strconv.ParseInt(line, 16, 64)
		if err != nil || n == 0 || int(n)+2 > len(rest) {
			return b.String() + rest
		}
		b.WriteString(rest[:n])
		body = rest[n+2:]
	}
}

var title = regexp.MustCompile(`<title>([^<]*)</title>`)

func isFile(r *request) bool {
	return strings.Contains(r.send[0], " /static") || strings.Contains(r.send[0], " /compressed/") || strings.Contains(r.send[0], " /sendfile/") || strings.Contains(r.send[0], " /sendcompressed/") || strings.Contains(r.send[0], " /embedded/")
}

// rows are looked at in this order: those that remove whole answers first.
var rows = []*row{
	// Heads.
	{what: "lines that end in a bare LF", remove: instead(`[^\r]\n`, "none", "400")},
	{what: "lines that end in a bare LF", remove: instead(`[^\r]\n`, "200", "400")},
	{what: "folded field lines (obs-fold)", remove: instead(`\n[ \t]`, "200", "400")},
	{what: "spaces in field names", remove: instead(`\nX A:`, "200", "400")},
	{what: "Host that is empty or has escapes", remove: instead(`\nHost:\r`, "400", "200")},
	{what: "Host with userinfo, a path, bytes that aren't ASCII, or broken syntax", remove: instead(`\nHost: (u@|a,b|.*[^[:ascii:]])`, "200", "400")},
	{what: "targets in the wrong form for their method, or with a fragment", remove: instead(`^GET /[^ ]*#`, "200", "400")},
	{what: "HTTP/2.0, HTTP/9.9 in a request line", remove: instead(` HTTP/2.0\r`, "200", "400")}, // 400 is Fiber's
	{what: "unknown Expect", remove: instead(`\nExpect: x\r`, "200", "400")},                     // likewise
	{what: "a target that is too long", remove: instead(`^GET /echo/a{1000}[^ ]*a{1000}`, "431", "400")},
	{what: "`Transfer-Encoding` and `Content-Length` together", remove: instead(`\nContent-Length: .*\nTransfer-Encoding:`, "200", "400")},
	{what: "unsupported transfer codings", remove: instead(`\nTransfer-Encoding: identity\r`, "200", "400")}, // likewise
	{what: "lines of chunks and trailers with spaces or broken extensions", remove: instead(`(?s)chunked.*\n[0-9]( |;a=)\r`, "200", "400")},
	{what: "HTTP/1.2 to HTTP/1.9 in a start line", remove: func(p *pair) bool {
		if !strings.Contains(p.request.send[0], " HTTP/1.2\r") || len(p.peer.answers) != 1 || !p.peer.answers[0].drop("Connection") {
			return false
		}
		peer, ours := &p.peer.answers[0], &p.ours.answers[0]
		peer.body = strings.Replace(strings.Replace(peer.body, "Connection: [\"close\"]\n", "", 1), "HTTP/1.2", "HTTP/1.1", 1)
		if peer.body == ours.body {
			dropBodies(peer, ours)
		}
		p.peer.end, p.ours.end = "", ""
		return true
	}},
	{what: "Host beside a target with a host, `GET http://host/path` or CONNECT", remove: rewritten(`a\.example`, "other.example")},
	{what: "several Connection fields", remove: rewritten(`"x" "close"`, `"x, close"`)},
	{what: "requests with no body and no length, except GET and HEAD", remove: rewritten(`Content-Length: \["0"\]\n`, "")},
	{what: "double quotes around a cookie's value in a request", remove: func(p *pair) bool {
		return rewritten(`"1" "q" ("GET .*)b=q`, `"1" "\"q\"" ${1}b=\"q\"`)(p)
	}},
	{what: "other double quotes and backslashes in a cookie's value in a request, as in JSON", remove: rewritten(`^"" ("none" "GET .*)\\r\\n"$`, `"{\"b\":1}" ${1}Cookie: a={\"b\":1}\r\n\r\n"`)},
	{what: "Cookie fields of a request, once a cookie was asked for", remove: rewritten(`a=1; b=2`, `a=1\r\nCookie: b=2`)},
	{what: "Cookie fields of a request, once a cookie was asked for", remove: rewritten(`a=1; b=; c=d=e; f`, `;; a = 1 ;b=;  c=d=e; f`)},
	{what: "Cookie fields of a request, once a cookie was asked for", remove: rewritten(`(Host: a\.example\\r\\n)(\\r\\n"$)`, `${1}Cookie: \r\n${2}`)},
	{what: "several Content-Type fields", remove: rewritten(`application/json`, "application/x-www-form-urlencoded")},
	{what: "errors that the server answers by itself: limits, malformed requests, panics", remove: extra("X-Content-Type-Options", "nosniff", func(_ *request, peer, ours *answer) bool {
		return peer.line == ours.line && (strings.HasPrefix(ours.line, "HTTP/1.1 400") || strings.HasPrefix(ours.line, "HTTP/1.1 413") || strings.HasPrefix(ours.line, "HTTP/1.1 431"))
	})},
	{what: "error texts of malformed heads and bodies", remove: texts(`^(error: )?(error when reading|invalid (character|port)|empty hex|cannot find crlf)`, `^(error: )?h1: `)},
	{what: "error texts of malformed heads and bodies", remove: texts(`^3 empty hex number$`, `^3 h1: invalid chunk size$`)},
	{what: "`Expect: 100-continue`, for the server", remove: each2(func(_ *request, peer, ours *answer) bool {
		if peer.interim != "HTTP/1.1 100 Continue\n\n" || ours.interim != "" {
			return false
		}
		peer.interim = ""
		return true
	})},
	{what: "`Expect: 100-continue`, for the server", remove: func(p *pair) bool {
		if p.request.app != "stream" || p.peer.end != "open" || len(p.ours.answers) != 1 || !strings.Contains(p.request.send[0], " /unread ") || !p.ours.answers[0].drop("Connection") {
			return false
		}
		p.peer.end, p.ours.end = "", ""
		return true
	}},

	// Responses.
	{what: "a final response with a status from 100 to 199, without `Hijack` or `Upgrade`", remove: func(p *pair) bool {
		if !regexp.MustCompile(`/status(body)?/1[0-9][0-9] `).MatchString(p.request.send[0]) || p.peer.end != "silent" || status(p.ours) != "500" {
			return false
		}
		p.peer, p.ours = transcript{}, transcript{}
		return true
	}},
	{what: "a status outside 100 to 999", remove: instead(`/status(body)?/1000 `, "1000", "500")},
	{what: "a body for status 205", remove: each2(func(_ *request, peer, ours *answer) bool {
		if !strings.HasPrefix(ours.line, "HTTP/1.1 205") || ours.body != "" || !ours.has("Content-Length", "0") {
			return false
		}
		peer.drop("Content-Type")
		dropBodies(peer, ours)
		return true
	})},
	{what: "`StatusTooEarly`", remove: each2(func(_ *request, peer, ours *answer) bool {
		if peer.line != "HTTP/1.1 425 Unknown Status Code" || ours.line != "HTTP/1.1 425 Too Early" {
			return false
		}
		ours.line = peer.line
		return true
	})},
	{what: "a response to HEAD without a body and a length", remove: extra("Content-Length", "0", func(r *request, _, _ *answer) bool {
		return strings.HasPrefix(r.send[0], "HEAD ")
	})},
	{what: "`SkipBody` in the answer to a GET", remove: instead(` /skipbody `, "200", "200")},
	{what: "`RequestCtx.Redirect`, `RedirectBytes` with an invalid reference, as two rows above", remove: instead(`^GET /ctxredirect\?u=/%5C`, "303", "500")},
	{what: "control characters in values that are set", remove: each2(func(_ *request, peer, ours *answer) bool {
		i, j := peer.index("X-K"), ours.index("X-K")
		if i < 0 || j < 0 || !strings.Contains(peer.fields[i], "\x01") {
			return false
		}
		peer.fields[i], ours.fields[j] = "", ""
		return true
	})},
	{what: "invalid names and methods in setters", remove: each2(func(_ *request, peer, ours *answer) bool {
		return peer.has("X Y", "c") && ours.index("X Y") < 0 && peer.drop("X Y")
	})},
	{what: "`Date` of a response", remove: each2(func(_ *request, peer, ours *answer) bool {
		return peer.has("Date", "now") && ours.has("Date", "Tue, 02 Jan 2024 03:04:05 GMT") && peer.drop("Date") && ours.drop("Date")
	})},
	{what: "`Set` of a field that is there several times", remove: each2(func(_ *request, peer, ours *answer) bool {
		return peer.has("X-Many", "w") && peer.drop("X-Many") && peer.has("X-Many", "v") && peer.drop("X-Many") && peer.drop("X-Many") && ours.has("X-Many", "w") && ours.drop("X-Many")
	})},

	// Bodies and streams.
	{what: "a multipart form that can't be parsed", remove: instead(`POST /multipart`, "500", "400")},
	{what: "a multipart form that can't be parsed", remove: func(p *pair) bool {
		return p.request.app == "stream" && instead(`POST /multipart`, "400", "500")(p)
	}},
	{what: "a body stream that fails, such as an upload that is broken off, once `Body`, `PostBody`, `SwapBody` or a similar method has read it", remove: func(p *pair) bool {
		return p.request.app == "stream" && instead(`POST /echo`, "200", "400")(p)
	}},
	{what: "`BodyStream` of a request with `Content-Length: 0`", remove: texts(`^0 <nil>$`, `^no stream$`)},
	{what: "a body stream that has more bytes than the size it was set with", remove: instead(`/stream/long`, "none", "200")},
	{what: "a body stream that has fewer bytes than the size it was set with", remove: func(p *pair) bool {
		return instead(`GET /stream/short`, "none", "200")(p)
	}},
	{what: "a body stream that has fewer bytes than the size it was set with", remove: texts(`^error: .*closed connection before returning the first response byte`, `^error: unexpected EOF$`)},
	{what: "a stream of unknown length in a response to HTTP/1.0", remove: func(p *pair) bool {
		if !strings.Contains(p.request.send[0], " HTTP/1.0\r") || len(p.peer.answers) != 1 || len(p.ours.answers) != 1 {
			return false
		}
		peer, ours := &p.peer.answers[0], &p.ours.answers[0]
		if !peer.drop("Transfer-Encoding") || ours.index("Transfer-Encoding") >= 0 || joinChunks(peer.body) != ours.body+"\r\n" || p.ours.end != "closed" && !strings.HasSuffix(p.ours.end, "then closed") {
			return false
		}
		for peer.drop("Connection") || ours.drop("Connection") {
		}
		peer.body, ours.body = "", ""
		p.peer.end, p.ours.end = "", ""
		return true
	}},
	{what: "`SetBodyStreamWriter`", remove: each2(func(_ *request, peer, ours *answer) bool {
		if peer.index("Content-Encoding") >= 0 || peer.body == ours.body || !peer.has("Transfer-Encoding", "chunked") || joinChunks(peer.body) != joinChunks(ours.body) {
			return false
		}
		peer.body = ours.body
		return true
	})},

	// Files.
	{what: "listings of directories", remove: each2(func(_ *request, peer, ours *answer) bool {
		theirs, mine := title.FindStringSubmatch(peer.body), title.FindStringSubmatch(ours.body)
		if theirs == nil || mine == nil || strings.TrimSuffix(theirs[1], "/") != strings.TrimSuffix(mine[1], "/") {
			return false
		}
		peer.drop("Last-Modified")
		ours.drop("X-Content-Type-Options")
		dropBodies(peer, ours)
		return true
	})},
	{what: "`/file.txt/`", remove: instead(`^GET /static/a.txt/ `, "200", "404")},
	{what: "a zero byte in a path", remove: texts(`^Are you a hacker\?$`, `^Bad Request$`)},
	{what: "a request for several ranges", remove: instead(`\nRange: bytes=[0-9-]+,`, "200", "206")},
	{what: "Range in a HEAD request", remove: instead(`(?s)^HEAD .*\nRange: bytes`, "206", "200")},
	{what: "the last bytes of an empty file (`Range: bytes=-5`)", remove: instead(`(?s)^GET /static/empty .*\nRange: bytes=-5`, "416", "200")},
	{what: "If-Match, If-Unmodified-Since", remove: instead(`\nIf-(Match|Unmodified-Since):`, "200", "412")},
	{what: "`If-None-Match: *`, for a file without an entity tag", remove: instead(`\nIf-None-Match: \*`, "200", "304")},
	{what: "If-Modified-Since together with If-None-Match, for a file without an entity tag", remove: instead(`(?s)\nIf-None-Match: ".*\nIf-Modified-Since:`, "304", "200")},
	{what: "fields of a 304 for a file", remove: each2(func(r *request, peer, ours *answer) bool {
		if !strings.HasPrefix(ours.line, "HTTP/1.1 304") || !isFile(r) {
			return false
		}
		set := peer.index("X-Before") < 0 && ours.drop("X-Before")
		return peer.index("Last-Modified") < 0 && ours.drop("Last-Modified") || set
	})},
	{what: "redirect to a directory", remove: each2(func(_ *request, peer, ours *answer) bool {
		if !peer.has("Location", "http://a.exampleDIR/list/") || !ours.has("Location", "DIR/list/") {
			return false
		}
		return peer.drop("Location") && ours.drop("Location")
	})},
	{what: "`Vary` with compression", remove: extra("Vary", "Accept-Encoding", func(r *request, _, ours *answer) bool {
		return isFile(r) && strings.Contains(r.send[0], "\nAccept-Encoding:")
	})},

	// Compression.
	{what: "weights in Accept-Encoding, for `FS` and the `CompressHandler` functions", remove: each2(func(r *request, peer, ours *answer) bool {
		coding, encoded := peer.field("Content-Encoding")
		if encoded && !(coding == "br" && strings.Contains(r.send[0], "br;q=0.1") && ours.has("Content-Encoding", "gzip")) || !encoded && !strings.Contains(r.send[0], "Accept-Encoding: *") {
			return false
		}
		plain, err := plainOf(ours)
		theirs := peer.body
		if encoded {
			if theirs, err = plainOf(peer); err != nil {
				return false
			}
			peer.drop("Content-Encoding")
		}
		if err != nil || plain != theirs {
			return false
		}
		ours.drop("Content-Encoding")
		dropBodies(peer, ours)
		return true
	})},
	{what: "a strong `ETag`, and `Accept-Ranges`, of a response that is encoded", remove: each2(func(_ *request, peer, ours *answer) bool {
		theirs, ok := peer.field("ETag")
		return ok && !strings.HasPrefix(theirs, "W/") && ours.has("ETag", `W/"strong"`) && peer.drop("ETag") && ours.drop("ETag")
	})},
	{what: "partial responses (206, `Content-Range`), `Cache-Control: no-transform`", remove: encodedByPeer(`/compress/(status/206|.*cc=no-transform)`)},
	{what: "204 and 304", remove: each2(func(_ *request, peer, ours *answer) bool {
		return strings.HasPrefix(ours.line, "HTTP/1.1 204") && ours.index("Content-Encoding") < 0 && peer.drop("Content-Encoding") && (peer.drop("Vary") || true)
	})},
	{what: "media types that are compressed already (zip, woff2, office documents ...)", remove: encodedByPeer(`/compress/type\?t=application/zip`)},
	{what: "media types in upper case", remove: each2(func(r *request, peer, ours *answer) bool {
		plain, err := plainOf(ours)
		if err != nil || plain != peer.body || !strings.Contains(r.send[0], "TEXT/HTML") {
			return false
		}
		ours.drop("Content-Encoding")
		if peer.index("Vary") < 0 {
			ours.drop("Vary")
		}
		dropBodies(peer, ours)
		return true
	})},
	{what: "`Vary`", remove: extra("Vary", "Accept-Encoding", func(r *request, _, ours *answer) bool {
		return strings.Contains(r.send[0], "\nAccept-Encoding:") && strings.Contains(r.send[0], " /compress/")
	})},
	{what: "bytes of an encoded body", remove: each2(func(r *request, peer, ours *answer) bool {
		if coding, ok := ours.field("Content-Encoding"); !ok || !peer.has("Content-Encoding", coding) {
			return false
		}
		if !strings.HasPrefix(r.send[0], "HEAD ") {
			theirs, err := plainOf(peer)
			mine, err2 := plainOf(ours)
			if err != nil || err2 != nil || theirs != mine || peer.body == ours.body {
				return false
			}
		}
		dropBodies(peer, ours)
		return true
	})},

	// Sub-packages.
	{what: "header fields that were set before a handler of `expvarhandler`", remove: extra("X-Before", "set", func(r *request, _, _ *answer) bool {
		return strings.HasPrefix(r.send[0], "GET /debug/vars")
	})},
	{what: "`Content-Type` of a response without content", remove: each2(func(r *request, peer, ours *answer) bool {
		return (strings.HasPrefix(ours.line, "HTTP/1.1 204") || strings.HasPrefix(ours.line, "HTTP/1.1 304")) && strings.Contains(r.send[0], " /adaptor/") && ours.index("Content-Type") < 0 && peer.drop("Content-Type")
	})},

	{what: "order of the fields that are sent", remove: each2(func(_ *request, peer, ours *answer) bool {
		if slices.Equal(peer.fields, ours.fields) {
			return false
		}
		theirs, mine := inOrder(peer.fields), inOrder(ours.fields)
		if !slices.Equal(theirs, mine) {
			return false
		}
		peer.fields, ours.fields = theirs, mine
		return true
	})},
}

// encodedByPeer says that only fasthttp encodes the answers to requests that match.
func encodedByPeer(match string) func(p *pair) bool {
	re := regexp.MustCompile(match)
	return each2(func(r *request, peer, ours *answer) bool {
		plain, err := plainOf(peer)
		if err != nil || plain != ours.body || !re.MatchString(r.send[0]) {
			return false
		}
		peer.drop("Content-Encoding")
		if ours.index("Vary") < 0 {
			peer.drop("Vary")
		}
		dropBodies(peer, ours)
		return true
	})
}

// inOrder sorts fields by their names. Those of one name keep their order.
func inOrder(fields []string) []string {
	fields = slices.Clone(fields)
	slices.SortStableFunc(fields, func(a, b string) int {
		a, _, _ = strings.Cut(a, ":")
		b, _, _ = strings.Cut(b, ":")
		return strings.Compare(a, b)
	})
	return fields
}
