package head_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// Another version of HTTP writes heads from the same representation. The functions
// pairsOf... are such a writer, of lists of names and values as HTTP/2 has them
// (RFC 9113 section 8.3): names in lower case, the start line as pseudo-fields, no
// fields of the connection (section 8.2.2). They use nothing of package h1.

type pair struct{ name, value string }

type pairs []pair

func (p *pairs) add(name string, value []byte) {
	*p = append(*p, pair{strings.ToLower(name), string(value)})
}

// records adds the records whose id is in only, or those whose id isn't in except.
func (p *pairs) records(f *msg.Fields, spelling msg.Spelling, only, except uint64) {
	for i := range f.Recs {
		r := &f.Recs[i]
		if r.Flags&(msg.Dead|msg.Unsent) == 0 && (only == 0 || only&(1<<r.ID) != 0) && except&(1<<r.ID) == 0 {
			p.add(string(f.NameAs(i, spelling)), f.Value(i))
		}
	}
}

func bit(ids ...msg.ID) (set uint64) {
	for _, id := range ids {
		set |= 1 << id
	}
	return set
}

var connectionFields = bit(msg.Connection, msg.TransferEncoding)

func pairsOfRequest(r *head.Request) (p pairs) {
	method := r.Part(msg.Method)
	if len(method) == 0 {
		method = []byte("GET")
	}
	p.add(":method", method)
	p.add(":path", r.AppendTarget(nil))
	announced := r.Trailers.Announced(&r.Fields, r.ContentLength == msg.LenChunked, r.Spelling)
	if r.NoSpecial {
		p.records(&r.Fields, r.Spelling, 0, connectionFields|bit(msg.Trailer))
	} else {
		p.records(&r.Fields, r.Spelling, bit(msg.UserAgent), 0)
		p.records(&r.Fields, r.Spelling, bit(msg.Host), 0)
		p.records(&r.Fields, r.Spelling, bit(msg.ContentType), 0)
		if r.ImpliesType() {
			p.add("content-type", []byte(head.DefaultRequestType))
		}
		if n := r.ContentLength; n > 0 || n == 0 && r.HasLength() {
			p.add("content-length", fmt.Append(nil, n))
		}
		p.records(&r.Fields, r.Spelling, 0, connectionFields|
			bit(msg.UserAgent, msg.Host, msg.ContentType, msg.ContentLength, msg.Trailer))
	}
	if len(announced) > 0 {
		p.add("trailer", announced)
	}
	if r.CookieState == head.CookiesOwned && r.Cookies.Len() > 0 {
		p.add("cookie", r.AppendCookies(nil))
	}
	return p
}

func pairsOfResponse(r *head.Response, by head.Sender) (p pairs) {
	status := r.Status
	if status == 0 {
		status = 200
	}
	p.add(":status", fmt.Append(nil, status))
	one := func(id msg.ID, slot []byte, other string) {
		switch {
		case slot != nil:
			p.add(id.String(), slot)
		case r.Has(id):
			p.records(&r.Fields, r.Spelling, bit(id), 0)
		case other != "":
			p.add(id.String(), []byte(other))
		}
	}
	one(msg.Server, r.Slot(msg.Server), by.Server)
	date, contentType := string(by.Date[:]), ""
	if r.Implied&head.NoDate != 0 {
		date = ""
	}
	one(msg.Date, nil, date)
	if r.ImpliesType() {
		contentType = head.DefaultResponseType
	}
	one(msg.ContentType, r.Slot(msg.ContentType), contentType)
	p.records(&r.Fields, r.Spelling, bit(msg.ContentEncoding), 0)
	if n, ok := r.Length(by.ZeroLength); ok {
		p.add("content-length", fmt.Append(nil, n))
	} else if r.Status == 304 {
		p.records(&r.Fields, r.Spelling, bit(msg.ContentLength), 0)
	}
	p.records(&r.Fields, r.Spelling, 0, connectionFields|bit(
		msg.Server, msg.Date, msg.ContentType, msg.ContentEncoding, msg.ContentLength, msg.Trailer, msg.SetCookie))
	if names := r.Trailers.Announced(&r.Fields, r.ContentLength == msg.LenChunked, r.Spelling); len(names) > 0 {
		p.add("trailer", names)
	}
	p.records(&r.Fields, r.Spelling, bit(msg.SetCookie), 0)
	return p
}

func pairsOfTrailers(t *head.Trailers, spelling msg.Spelling) (p pairs) {
	if received, set := t.Fields(); set != nil {
		p.records(received, spelling, 0, 0)
		p.records(set, spelling, 0, 0)
	}
	return p
}

// unordered returns the pairs sorted, for lists whose order tells nothing: that of
// fields with different names (RFC 9110 section 5.3).
func (p pairs) unordered() pairs {
	p = slices.Clone(p)
	slices.SortStableFunc(p, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	return p
}

// read takes a head of HTTP/1.1 apart. It returns the start line, the fields that
// HTTP/2 has as well, and the names and values of the others.
func read(t *testing.T, text string) (line string, p, connection pairs) {
	t.Helper()
	lines, ok := strings.CutSuffix(text, "\r\n\r\n")
	if !ok && text != "\r\n" {
		t.Fatalf("%q doesn't end with an empty line", text)
	}
	line, lines, _ = strings.Cut(lines, "\r\n")
	return line, fields(t, lines, &connection), connection
}

func fields(t *testing.T, lines string, connection *pairs) (p pairs) {
	for l := range strings.SplitSeq(lines, "\r\n") {
		if l == "" {
			continue
		}
		name, value, ok := strings.Cut(l, ": ")
		if !ok || strings.ContainsAny(l, "\r\n") {
			t.Fatalf("%q is no field line", l)
		}
		if id := msg.LookupString(name); connectionFields&bit(id) != 0 && id != msg.Unknown {
			connection.add(name, []byte(value))
			continue
		}
		p.add(name, []byte(value))
	}
	return p
}

type requestCase struct {
	name       string
	set        func(r *head.Request)
	connection pairs // what HTTP/1.1 has beside the pairs
	trailers   int   // how many trailer fields there are
}

func put(f *msg.Fields, name, value string) {
	f.PutMore(msg.LookupString(name), []byte(name), []byte(value), msg.Normalized)
}

var requestCases = []requestCase{
	{name: "zero", set: func(r *head.Request) {}},
	{name: "usual", set: func(r *head.Request) {
		r.SetPart(msg.Method, []byte("GET"))
		r.SetPart(msg.Target, []byte("/search?q=a"))
		put(&r.Fields, "Accept", "*/*")
		put(&r.Fields, "host", "example.com")
		put(&r.Fields, "user-agent", "test")
	}},
	{name: "target with a space and a fragment", set: func(r *head.Request) { r.SetPart(msg.Target, []byte("/a b#c")) }},
	{name: "body without a type", set: func(r *head.Request) { r.ContentLength = 5 }},
	{name: "body of a type", set: func(r *head.Request) { r.ContentLength = 5; put(&r.Fields, "Content-Type", "text/css") }},
	{name: "body, no default type", set: func(r *head.Request) { r.ContentLength, r.NoDefaultType = 5, true }},
	{name: "length of 0", set: func(r *head.Request) { r.LengthSet = true }},
	{name: "no length", set: func(r *head.Request) { r.ContentLength = msg.LenUnknown }},
	{name: "chunked", set: func(r *head.Request) { r.ContentLength = msg.LenChunked }, connection: pairs{{"transfer-encoding", "chunked"}}},
	{
		name: "chunked with trailers",
		set: func(r *head.Request) {
			r.ContentLength = msg.LenChunked
			_ = r.Trailers.AddValue(&r.Fields, []byte("X-Sum"), []byte("1"), r.Spelling)
			_ = r.Trailers.AddValue(&r.Fields, []byte("x-other"), []byte("2"), r.Spelling)
			_ = r.Trailers.DeclareMore(&r.Fields, []byte("x-none"), r.Spelling)
		},
		connection: pairs{{"transfer-encoding", "chunked"}},
		trailers:   2,
	},
	{name: "cookie fields", set: func(r *head.Request) { put(&r.Fields, "Cookie", "a=b"); put(&r.Fields, "Cookie", "c=d") }},
	{name: "cookies one by one", set: func(r *head.Request) {
		put(&r.Fields, "Cookie", "a=b")
		r.OwnCookies()
		r.Cookies.Add("c", "d")
		r.Cookies.Add("e", "f\r\ng: h")
	}},
	{name: "no cookies left", set: func(r *head.Request) { put(&r.Fields, "Cookie", "a=b"); r.OwnCookies(); r.Cookies.Del("a") }},
	{name: "closing", set: func(r *head.Request) { r.Conn = msg.ConnClose }, connection: pairs{{"connection", "close"}}},
	{
		name: "upgrade",
		set: func(r *head.Request) {
			put(&r.Fields, "Connection", "upgrade")
			put(&r.Fields, "Connection", "x-y")
			put(&r.Fields, "Upgrade", "websocket")
			r.Conn = msg.ConnUpgrade | msg.ConnOther
		},
		connection: pairs{{"connection", "upgrade, x-y"}},
	},
	{name: "as set", set: func(r *head.Request) {
		r.NoSpecial, r.ContentLength = true, 3
		put(&r.Fields, "X-A", "1")
		put(&r.Fields, "Content-Length", "3")
		put(&r.Fields, "Host", "example.com")
	}},
	{name: "spelled as given", set: func(r *head.Request) {
		r.Spelling = msg.AsGiven
		r.PutMore(msg.Unknown, []byte("x-LOUD"), []byte("1"), msg.AsGiven)
		r.PutMore(msg.Host, []byte("HOST"), []byte("example.com"), msg.AsGiven)
	}},
	{name: "deleted", set: func(r *head.Request) {
		put(&r.Fields, "X-A", "1")
		put(&r.Fields, "X-B", "2")
		r.Del(msg.Unknown, []byte("x-a"))
	}},
}

// Two writers tell the same of a request.
func TestWritersOfRequests(t *testing.T) {
	for _, tt := range requestCases {
		t.Run(tt.name, func(t *testing.T) {
			var r head.Request
			r.Reset()
			tt.set(&r)
			text := string(h1.AppendRequestHead(nil, &r))
			line, got, connection := read(t, text)
			want := pairsOfRequest(&r)
			if start := fmt.Sprintf("%s %s HTTP/1.1", want[0].value, want[1].value); line != start {
				t.Errorf("the request line is %q, want %q", line, start)
			}
			if want = want[2:]; !slices.Equal(got.unordered(), want.unordered()) {
				t.Errorf("HTTP/1.1 says\n%v, pairs are\n%v", got, want)
			}
			if !slices.Equal(connection, tt.connection) {
				t.Errorf("of the connection %v, want %v", connection, tt.connection)
			}
			checkTrailers(t, &r.Trailers, r.Spelling, tt.trailers)
		})
	}
}

func checkTrailers(t *testing.T, trailers *head.Trailers, spelling msg.Spelling, n int) {
	t.Helper()
	text := string(h1.AppendTrailers(nil, trailers, spelling))
	lines, ok := strings.CutSuffix(text, "\r\n")
	if !ok {
		t.Fatalf("the trailer section %q doesn't end with an empty line", text)
	}
	got, want := fields(t, lines, nil), pairsOfTrailers(trailers, spelling)
	if !slices.Equal(got, want) || len(got) != n {
		t.Errorf("HTTP/1.1 has the trailer fields\n%v, pairs are\n%v, want %d", got, want, n)
	}
}

type responseCase struct {
	name       string
	set        func(r *head.Response)
	connection pairs
	trailers   int
}

var responseCases = []responseCase{
	{name: "zero", set: func(r *head.Response) {}},
	{name: "usual", set: func(r *head.Response) {
		r.ContentLength = 5
		r.SetSlot(msg.ContentType, []byte("text/css"))
		put(&r.Fields, "cache-control", "no-store")
	}},
	{name: "own server", set: func(r *head.Response) { r.ContentLength = 5; r.SetSlot(msg.Server, []byte("mine")) }},
	{name: "long server", set: func(r *head.Response) { put(&r.Fields, "Server", strings.Repeat("s", 200)) }},
	{name: "two servers", set: func(r *head.Response) { put(&r.Fields, "Server", "a"); put(&r.Fields, "Server", "b") }},
	{name: "default type", set: func(r *head.Response) { r.ContentLength = 5 }},
	{name: "no default type", set: func(r *head.Response) { r.ContentLength = 5; r.Implied |= head.NoDefaultType }},
	{name: "type as a record", set: func(r *head.Response) { r.ContentLength = 5; put(&r.Fields, "Content-Type", "text/css") }},
	{name: "no date", set: func(r *head.Response) { r.Implied |= head.NoDate }},
	{name: "own date", set: func(r *head.Response) { put(&r.Fields, "Date", "Tue, 15 Nov 1994 12:45:26 GMT") }},
	{name: "encoded", set: func(r *head.Response) { r.ContentLength = 5; put(&r.Fields, "Content-Encoding", "gzip") }},
	{name: "cookies", set: func(r *head.Response) {
		put(&r.Fields, "Set-Cookie", "a=b")
		put(&r.Fields, "X-A", "1")
		put(&r.Fields, "Set-Cookie", "c=d")
	}},
	{name: "not found", set: func(r *head.Response) { r.Status, r.ContentLength = 404, 9 }},
	{name: "no content", set: func(r *head.Response) { r.Status = 204 }},
	{name: "not modified", set: func(r *head.Response) { r.Status = 304; put(&r.Fields, "Content-Length", "7") }},
	{name: "chunked", set: func(r *head.Response) { r.ContentLength = msg.LenChunked }, connection: pairs{{"transfer-encoding", "chunked"}}},
	{
		name: "chunked with trailers",
		set: func(r *head.Response) {
			r.ContentLength = msg.LenChunked
			put(&r.Fields, "X-Sum", "moves")
			_ = r.Trailers.Declare(&r.Fields, []byte("x-sum, x-none"), r.Spelling)
			_ = r.Trailers.AddValue(&r.Fields, []byte("x-other"), []byte("2"), r.Spelling)
		},
		connection: pairs{{"transfer-encoding", "chunked"}},
		trailers:   2,
	},
	{name: "closing", set: func(r *head.Response) { r.ContentLength, r.Conn = 5, msg.ConnClose }, connection: pairs{{"connection", "close"}}},
	{name: "up to the end of the connection", set: func(r *head.Response) { r.ContentLength = msg.LenUnknown }, connection: pairs{{"connection", "close"}}},
	{
		name: "closing in spite of a field",
		set: func(r *head.Response) {
			put(&r.Fields, "Connection", "keep-alive")
			r.Conn = msg.ConnKeepAlive | msg.ConnClose
		},
		connection: pairs{{"connection", "close"}},
	},
	{name: "spelled as given", set: func(r *head.Response) {
		r.Spelling = msg.AsGiven
		r.PutMore(msg.Unknown, []byte("x-LOUD"), []byte("1"), msg.AsGiven)
	}},
}

// Two writers tell the same of a response, whichever side sends it, also when it is the
// next one of the same head, whose opening is kept.
func TestWritersOfResponses(t *testing.T) {
	date := [head.DateLen]byte([]byte("Sun, 06 Nov 1994 08:49:37 GMT"))
	later := [head.DateLen]byte([]byte("Sun, 06 Nov 1994 08:49:38 GMT"))
	senders := []head.Sender{
		{Date: &date}, {Date: &date, Server: "gale"}, {Date: &date, Server: "gale", ZeroLength: true},
		{Date: &later, Server: "ga\nle"}, {Date: &later, Server: "other", ZeroLength: true},
	}
	var r head.Response
	var o h1.Opening
	for _, tt := range responseCases {
		for _, by := range senders {
			for range 2 {
				r.Reset()
				r.Implied, r.Spelling = 0, msg.Normalized
				tt.set(&r)
				text := string(h1.AppendResponseHead(nil, &r, &o, by))
				line, got, connection := read(t, text)
				by := by
				by.Server = strings.ReplaceAll(by.Server, "\n", " ")
				want := pairsOfResponse(&r, by)
				if !strings.HasPrefix(line, "HTTP/1.1 "+want[0].value+" ") {
					t.Errorf("%s: the status line is %q, want %s", tt.name, line, want[0].value)
				}
				if want = want[1:]; !slices.Equal(got, want) {
					t.Errorf("%s, %+v: HTTP/1.1 says\n%v, pairs are\n%v", tt.name, by, got, want)
				}
				if !slices.Equal(connection, tt.connection) {
					t.Errorf("%s: of the connection %v, want %v", tt.name, connection, tt.connection)
				}
				if whole := o.Whole(&r, by.Server, by.Date); whole != nil && by.ZeroLength && string(whole) != text {
					t.Errorf("%s: the whole head is\n%q, want\n%q", tt.name, whole, text)
				}
				checkTrailers(t, &r.Trailers, r.Spelling, tt.trailers)
			}
		}
	}
}
