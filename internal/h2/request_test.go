package h2

import (
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/msg"
)

const base = "|host: a.test"

func TestDecodeRequest(t *testing.T) {
	many := strings.Fields(strings.Repeat("a ", 509))
	for i := range many {
		many[i] = "x-a: " + many[i]
	}
	for _, x := range []struct {
		name   string
		fields []string
		want   string // the head, or after "! " the error
	}{
		{"GET", get, "GET / HTTP/2.0 length=-2" + base},
		{"fields", with(get, "x-a: 1", "x-b: 2", "x-a: 3", "x_c: \t", "x-empty: "), "! invalid field value"},
		{"values", with(get, "x-a: 1", "x-b: a\tb \xff", "x-a: 3", "x_c: (;)", "x-empty: "),
			"GET / HTTP/2.0 length=-2" + base + "|x-a: 1|x-b: a\tb \xff|x-a: 3|x_c: (;)|x-empty: "},
		{"any order", []string{":path: /p?q", ":authority: a.test", ":scheme: https", ":method: PUT"}, "PUT /p?q HTTP/2.0 length=-2" + base},
		{"cookies", with(get, "cookie: a=1", "x: y", "cookie: b=2; c=3", "cookie: d=4"),
			"GET / HTTP/2.0 length=-2" + base + "|cookie: a=1; b=2; c=3; d=4|x: y"},
		{"Content-Type twice", with(get, "content-type: a/b", "content-type: c/d"), "GET / HTTP/2.0 length=-2" + base + "|content-type: a/b"},
		{"te", with(get, "te: trailers"), "GET / HTTP/2.0 length=-2" + base + "|te: trailers"},

		{"a capital letter", with(get, "X-a: 1"), "! invalid field name"},
		{"the last letter", with(get, "x-A: 1"), "! invalid field name"},
		{"a known name in capitals", with(get, "Accept: 1"), "! invalid field name"},
		{"no name", with(get, ": 1"), "! invalid field name"},
		{"a space in a name", with(get, "x a: 1"), "! invalid field name"},
		{"a space at the end of a name", with(get, "x : 1"), "! invalid field name"},
		{"CR in a name", with(get, "x\r: 1"), "! invalid field name"},
		{"a line in a name", with(get, "x\r\ny: 1"), "! invalid field name"},
		{"NUL in a name", with(get, "x\x00: 1"), "! invalid field name"},
		{"DEL in a name", with(get, "x\x7f: 1"), "! invalid field name"},
		{"0x80 in a name", with(get, "x\x80: 1"), "! invalid field name"},
		{"a colon in a name", with(get, "x:y: 1"), "! invalid field name"},
		{"a quote in a name", with(get, "x\": 1"), "! invalid field name"},
		{"a comma in a name", with(get, "x,: 1"), "! invalid field name"},
		{"CR in a value", with(get, "x: a\rb"), "! invalid field value"},
		{"LF in a value", with(get, "x: a\nb"), "! invalid field value"},
		{"NUL in a value", with(get, "x: a\x00b"), "! invalid field value"},
		{"DEL in a value", with(get, "x: a\x7fb"), "! invalid field value"},
		{"CR at the end", with(get, "x: a\r"), "! invalid field value"},
		{"SP at the start", with(get, "x:  a"), "! invalid field value"},
		{"SP at the end", with(get, "x: a "), "! invalid field value"},
		{"HTAB at the end", with(get, "x: a\t"), "! invalid field value"},
		{"SP alone", with(get, "x:  "), "! invalid field value"},
		{"SP in a known value", with(get, "accept: a "), "! invalid field value"},

		{"connection", with(get, "connection: close"), "! connection-specific field"},
		{"keep-alive", with(get, "keep-alive: 1"), "! connection-specific field"},
		{"proxy-connection", with(get, "proxy-connection: keep-alive"), "! connection-specific field"},
		{"transfer-encoding", with(get, "transfer-encoding: chunked"), "! connection-specific field"},
		{"upgrade", with(get, "upgrade: websocket"), "! connection-specific field"},
		{"te: gzip", with(get, "te: gzip"), "! connection-specific field"},
		{"te: trailers, gzip", with(get, "te: trailers, gzip"), "! connection-specific field"},
		{"te twice", with(get, "te: trailers", "te: gzip"), "! connection-specific field"},

		{"no pseudo-fields", []string{"x: y"}, "! pseudo-field missing"},
		{"no fields", nil, "! pseudo-field missing"},
		{"no method", get[1:], "! pseudo-field missing"},
		{"no path", get[:3], "! pseudo-field missing"},
		{"no scheme", []string{get[0], get[2], get[3]}, "! pseudo-field missing"},
		{":method twice", with(get, ":method: GET"), "! invalid pseudo-field"},
		{":authority twice", with(get, ":authority: a.test"), "! invalid pseudo-field"},
		{"a late pseudo-field", []string{get[0], get[1], get[2], "x: y", get[3]}, "! invalid pseudo-field"},
		{"a late pseudo-field after host", []string{get[0], get[1], "host: a.test", get[3]}, "! invalid pseudo-field"},
		{":status", with(get, ":status: 200"), "! invalid pseudo-field"},
		{":unknown", with(get, ":unknown: 1"), "! invalid pseudo-field"},
		{":Path", []string{get[0], get[1], get[2], ":Path: /"}, "! invalid pseudo-field"},
		{":protocol", with(get, ":protocol: websocket"), "! invalid pseudo-field"},
		{":protocol with CONNECT", with(get[1:], ":method: CONNECT", ":protocol: websocket"), "! invalid pseudo-field"},

		{"no method text", with(get[1:], ":method: "), "! invalid :method"},
		{"a request line in :method", with(get[1:], ":method: GET /evil HTTP/1.1"), "! invalid :method"},
		{"a method in small letters", with(get[1:], ":method: get"), "get / HTTP/2.0 length=-2" + base},
		{"a long method", with(get[1:], ":method: "+strings.Repeat("M", 65)), "! :method too long"},
		{"CONNECT", []string{":method: CONNECT", ":authority: a.test:80"}, "! CONNECT is not supported"},
		{"CONNECT with :path", []string{":method: CONNECT", ":authority: a.test:80", ":path: /"}, "! invalid pseudo-field"},
		{"CONNECT without :authority", []string{":method: CONNECT", "host: a.test:80"}, "! invalid pseudo-field"},

		{":scheme ftp", []string{get[0], ":scheme: ftp", get[2], get[3]}, "! invalid :scheme"},
		{":scheme with a URI", []string{get[0], ":scheme: http://evil/", get[2], get[3]}, "! invalid :scheme"},
		{"CR in :scheme", []string{get[0], ":scheme: http\r\n", get[2], get[3]}, "! invalid :scheme"},
		{"HTTPS", []string{get[0], ":scheme: HTTPS", get[2], get[3]}, "GET / HTTP/2.0 length=-2" + base},

		{"no path text", with(get[:3], ":path: "), "! invalid :path"},
		{"a path without slash", with(get[:3], ":path: index"), "! invalid :path"},
		{"a query alone", with(get[:3], ":path: ?q"), "! invalid :path"},
		{"absolute form", with(get[:3], ":path: http://b.test/"), "! invalid :path"},
		{"two slashes", with(get[:3], ":path: //evil/x"), "GET //evil/x HTTP/2.0 length=-2" + base},
		{"*", with(get[:3], ":path: *"), "! invalid :path"},
		{"OPTIONS *", with(get[1:3], ":path: *", ":method: OPTIONS"), "OPTIONS * HTTP/2.0 length=-2" + base},
		{"OPTIONS **", with(get[1:3], ":path: **", ":method: OPTIONS"), "! invalid :path"},
		{"SP in :path", with(get[:3], ":path: /a b"), "! invalid :path"},
		{"SP before :path", with(get[:3], ":path:  /"), "! invalid :path"},
		{"NUL in :path", with(get[:3], ":path: /\x00"), "! invalid :path"},
		{"a request in :path", with(get[:3], ":path: / HTTP/1.1\r\nx: y"), "! invalid :path"},
		{"a fragment", with(get[:3], ":path: /#f"), "! invalid :path"},
		{"bytes above ASCII", with(get[:3], ":path: /\xff%zz"), "GET /\xff%zz HTTP/2.0 length=-2" + base},
		{"a long path", with(get[:3], ":path: /"+strings.Repeat("a", DefaultTarget)), "! :path too long"},

		{"host alone", []string{get[0], get[1], get[3], "x: y", "host: b.test"}, "GET / HTTP/2.0 length=-2|x: y|host: b.test"},
		{"host like :authority", with(get, "host: A.test"), "GET / HTTP/2.0 length=-2" + base},
		{"another host", with(get, "host: b.test"), "! invalid :authority or Host"},
		{"two hosts like :authority", with(get, "host: a.test", "host: a.test"), "! invalid :authority or Host"},
		{"two hosts", []string{get[0], get[1], get[3], "host: b.test", "host: b.test"}, "! invalid :authority or Host"},
		{"neither", []string{get[0], get[1], get[3]}, "! invalid :authority or Host"},
		{"empty host", []string{get[0], get[1], get[3], "host: "}, "! invalid :authority or Host"},
		{"empty :authority", []string{get[0], get[1], get[3], ":authority: ", "host: a.test"}, "! invalid :authority or Host"},
		{"userinfo", []string{get[0], get[1], get[3], ":authority: u@a.test"}, "! invalid :authority or Host"},
		{"a path in :authority", []string{get[0], get[1], get[3], ":authority: a.test/x"}, "! invalid :authority or Host"},
		{"no number in :authority", []string{get[0], get[1], get[3], ":authority: a.test:x"}, "! invalid :authority or Host"},
		{"SP in :authority", []string{get[0], get[1], get[3], ":authority: a.test "}, "! invalid :authority or Host"},

		{"512 fields", with(with(get[:3], ":path: /"), many[:508]...), "GET / HTTP/2.0 length=-2" + base + strings.Repeat("|x-a: a", 508)},
		{"513 fields", with(get, many...), "! too many fields"},
		{"a long list", with(get, "x: "+strings.Repeat("a", 65536-32*5-len("x:methodGET:schemehttp:authoritya.test:path/")+1)), "! head too long"},
	} {
		t.Run(x.name, func(t *testing.T) {
			// Twice: fields from the table are checked once, or not accepted again.
			for _, indexed := range []bool{false, true} {
				p := newPeer(t, Config{}).greet()
				in := headers(1, flagEndStream, x.fields...)
				if indexed {
					b := []byte(block(x.fields...))
					for i := 0; i < len(b); i += fieldLen(b[i:]) {
						b[i] = 0x40
					}
					if len(b) > maxFrame {
						continue
					}
					p.send(frame(frameHeaders, flagEndHeaders|flagEndStream, 1, string(b)))
					checkHead(t, p, 1, x.want)
					if len(b) < 2000 && len(x.fields) > 0 {
						var refs []byte
						for i := len(x.fields) - 1; i >= 0; i-- {
							refs = append(refs, 0x80|byte(62+i))
						}
						p.send(frame(frameHeaders, flagEndHeaders|flagEndStream, 3, string(refs)))
						checkHead(t, p, 3, x.want)
					}
					continue
				}
				if len(in) > maxFrame {
					in = cut(1, flagEndStream, block(x.fields...))
				}
				p.send(in)
				checkHead(t, p, 1, x.want)
			}
		})
	}
}

// cut is a field block in frames of the largest size.
func cut(stream uint32, flags uint8, b string) string {
	out, typ := "", frameHeaders
	for len(b) > maxFrame {
		out += frame(typ, flags, stream, b[:maxFrame])
		b, typ, flags = b[maxFrame:], frameContinuation, 0
	}
	return out + frame(typ, flags|flagEndHeaders, stream, b)
}

// fieldLen returns the length of the literal with a new name that b begins with.
func fieldLen(b []byte) int {
	n := 1
	for range 2 {
		l, i := int(b[n]), n+1
		if l == 127 {
			for shift := 0; ; shift += 7 {
				l += int(b[i]&127) << shift
				i++
				if b[i-1] < 128 {
					break
				}
			}
		}
		n = i + l
	}
	return n
}

func checkHead(t *testing.T, p *peer, id uint32, want string) {
	t.Helper()
	got := p.heads[id]
	if got == "" {
		for _, line := range p.log {
			if rest, ok := strings.CutPrefix(line, "refused "); ok {
				_, got, _ = strings.Cut(rest, " ")
				got = "! " + strings.TrimSuffix(got, " end")
			}
		}
	}
	if got != want {
		t.Errorf("stream %d\ngot  %.300q\nwant %.300q", id, got, want)
	}
	if p.c.Failed() {
		t.Errorf("the connection has failed: %q", p.log)
	}
	delete(p.heads, id)
	p.log = nil
}

// What is derived from the fields.
func TestDecodeRequestFacts(t *testing.T) {
	decode := func(in ...string) (*peer, msg.RequestHead) {
		p := newPeer(t, Config{ExtendedConnect: true}).greet()
		var h msg.RequestHead
		var ev Event
		p.c.Read([]byte(strings.Join(in, "")), 1, &ev)
		h.Reset()
		if err := p.c.DecodeRequest(&h); err != nil {
			t.Fatal(err)
		}
		p.open[1] = ev.Stream
		return p, h
	}
	for _, x := range []struct {
		name  string
		flags uint8
		more  string
		want  int64
	}{
		{"no body", flagEndStream, "x: y", msg.LenUnknown},
		{"a body", 0, "x: y", msg.LenChunked},
		{"a length", 0, "content-length: 5", 5},
		{"a length of 0", 0, "content-length: 0", 0},
		{"a length of 0 and no body", flagEndStream, "content-length: 0", 0},
	} {
		if _, h := decode(headers(1, x.flags, with(post, x.more)...)); h.ContentLength != x.want {
			t.Errorf("%s: the length is %d, want %d", x.name, h.ContentLength, x.want)
		}
	}
	_, h := decode(headers(1, 0, with(post, "expect: 100-Continue")...))
	if h.Expect != msg.ExpectContinue || h.MethodID != msg.MethodPost || h.Minor != 1 || h.Conn != 0 || h.Form != msg.FormOrigin {
		t.Errorf("head is %+v", h)
	}
	if string(h.Name(h.Find(msg.Host))) != "Host" || string(h.Name(1)) != "Expect" {
		t.Error("names aren't shown in their customary spelling")
	}
	p, h := decode(headers(1, 0, ":method: CONNECT", ":scheme: https", ":authority: a.test", ":path: /chat", ":protocol: websocket"))
	if st := p.open[1]; string(st.Protocol()) != "websocket" || h.MethodID != msg.MethodConnect || string(h.Part(msg.Target)) != "/chat" || h.ContentLength != msg.LenUnknown {
		t.Errorf("extended CONNECT: protocol %q, head %q", st.Protocol(), h.Buf)
	}
}

func TestContentLength(t *testing.T) {
	data := func(flags uint8, payload string) string { return frame(frameData, flags, 1, payload) }
	length := func(flags uint8, v string) string { return headers(1, flags, with(post, "content-length: "+v)...) }
	bad := []string{"head 1 POST /", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}
	refused := []string{"refused 1 invalid Content-Length", "> RST_STREAM 1 PROTOCOL_ERROR"}
	for _, x := range []struct {
		name, in string
		want     []string
	}{
		{"right", length(0, "6") + data(0, "abc") + data(1, "def"), []string{"head 1 POST /", "data 1 abcdef end"}},
		{"padded", length(0, "3") + data(flagPadded|1, "\x02abc\x00\x00"), []string{"head 1 POST /", "data 1 abc end"}},
		{"too short", length(0, "6") + data(1, "abcde"), bad},
		{"too long", length(0, "2") + data(0, "abc"), bad},
		{"too long at the end", length(0, "2") + data(1, "abc"), bad},
		{"not 0", length(0, "0") + data(1, "a"), bad},
		{"padded, too long", length(0, "2") + data(flagPadded|1, "\x02abc\x00\x00"), bad},
		{"with trailers", length(0, "3") + data(0, "abc") + headers(1, 1, "x-t: 1"), []string{"head 1 POST /", "data 1 abc", "trailers 1 X-T=1"}},
		{"trailers too early", length(0, "4") + data(0, "abc") + headers(1, 1, "x-t: 1"),
			[]string{"head 1 POST /", "data 1 abc", "reset 1 PROTOCOL_ERROR local", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"END_STREAM", length(1, "5"), []string{"refused 1 invalid Content-Length end", "> RST_STREAM 1 PROTOCOL_ERROR"}},
		{"a list", length(0, "3, 4"), refused},
		{"minus", length(0, "-1"), refused},
		{"plus", length(0, "+1"), refused},
		{"hex", length(0, "0x3"), refused},
		{"empty", length(0, ""), refused},
		{"twice", headers(1, 0, with(post, "content-length: 3", "content-length: 3")...), refused},
		{"above 2^63", length(0, "9223372036854775811"), []string{"refused 1 length of the body too large"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, chunk := range []int{0, 1} {
				p := newPeer(t, Config{}).greet()
				p.chunk = chunk
				p.send(x.in).want(x.want...)
			}
		})
	}
}

func TestTrailers(t *testing.T) {
	for _, x := range []struct{ field, want string }{
		{"x-t: 1", "trailers 1 X-T=1"},
		{"etag: 1", "trailers 1 Etag=1"},
		{"X-T: 1", "trailers refused 1 invalid field name"},
		{"x-t: 1 ", "trailers refused 1 invalid field value"},
		{":path: /", "trailers refused 1 invalid pseudo-field"},
		{":status: 200", "trailers refused 1 invalid pseudo-field"},
		{"transfer-encoding: chunked", "trailers refused 1 connection-specific field"},
		{"te: trailers", "trailers refused 1 connection-specific field"},
		{"content-length: 3", "trailers refused 1 field not allowed in a trailer section"},
		{"host: a.test", "trailers refused 1 field not allowed in a trailer section"},
		{"x: " + strings.Repeat("a", 20000), "trailers refused 1 head too long"},
	} {
		p := newPeer(t, Config{HeaderList: 10000}).greet()
		p.send(headers(1, 0, post...), frame(frameData, 0, 1, "abc"), cut(1, flagEndStream, block(x.field)))
		want := []string{"head 1 POST /", "data 1 abc", x.want}
		if strings.Contains(x.want, "refused") {
			code := "PROTOCOL_ERROR"
			if strings.Contains(x.want, "too long") {
				code = "ENHANCE_YOUR_CALM"
			}
			want = append(want, "> RST_STREAM 1 "+code)
		}
		p.want(want...)
		p.c.Done(p.open[1])
		p.check()
	}
}

// A head that is refused with a status can be answered.
func TestRefusedHeadIsAnswered(t *testing.T) {
	p := newPeer(t, Config{HeaderList: 2000}).greet()
	p.send(headers(1, 0, with(post, "x: "+strings.Repeat("a", 2000))...), frame(frameData, 0, 1, "abc"))
	p.want("refused 1 head too long", "data 1 abc")
	p.sent(answer(p.c, p.open[1], 431, ""))
	p.c.Done(p.open[1])
	p.send().want("> HEADERS 1 end", "> RST_STREAM 1 NO_ERROR")
	// The table has stayed in step.
	p.send(frame(frameHeaders, flagEndHeaders|1, 3, "\x40"+block(with(post, "x: y")...)[1:])).want("head 3 POST / end")
}

// A field block that is too long to be decoded ends the connection with an answer.
func TestBlockTooLong(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	p.send(headers(1, 1, get...), frame(frameHeaders, 1, 3, block(get...)))
	for range 8 {
		p.send(frame(frameContinuation, 0, 3, block("x: "+strings.Repeat("a", 14000))))
	}
	p.want("head 1 GET / end", "failed ENHANCE_YOUR_CALM", "> HEADERS 3 end", "> GOAWAY 3 ENHANCE_YOUR_CALM")
}

// DecodeRequest(nil) keeps the table in step, and leaves the stream open.
func TestDropRequest(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	var ev Event
	p.c.Read([]byte(frame(frameHeaders, flagEndHeaders|1, 1, block(get...)+"\x40\x01x\x01y")), 1, &ev)
	if err := p.c.DecodeRequest(nil); err != nil {
		t.Fatal(err)
	}
	p.c.ResetStream(ev.Stream, RefusedStream)
	p.c.Done(ev.Stream)
	p.send(frame(frameHeaders, flagEndHeaders|1, 3, block(get...)+"\xbe"))
	if p.heads[3] != "GET / HTTP/2.0 length=-2"+base+"|x: y" {
		t.Error(p.heads[3])
	}
	p.want("head 3 GET / end", "> RST_STREAM 1 REFUSED_STREAM")
}
