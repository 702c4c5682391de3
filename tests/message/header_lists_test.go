package message

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness/peers"
	"github.com/galehttp/gale/ws"
)

// listForms are the ways in which a peer may send the same list (RFC 9110 sections 5.3 and
// 5.6.1.2): each is the values of the field's lines.
func listForms(elements []string) map[string][]string {
	list := strings.Join(elements, ", ")
	spread := []string{""}
	for _, e := range elements {
		spread = append(spread, ", "+e+" ,", " ")
	}
	return map[string][]string{
		"one line":       {list},
		"one line each":  elements,
		"empty elements": {", " + strings.Join(elements, ",\t,") + " ,,"},
		"empty line":     {"", list},
		"all of these":   spread,
	}
}

// listTest is a field whose value is a list, and code that reads it.
type listTest struct {
	field, by string
	elements  []string
	want      string // what the reader makes of the elements
	// ask sends the lines of the field to the reader and returns what that makes of them.
	ask func(t *testing.T, lines []string) string
}

// TestListFields proves that a field whose value is a list is one list over all its lines,
// wherever Gale reads it, and that empty elements don't count.
func TestListFields(t *testing.T) {
	for name, engine := range map[string]gale.Engine{"block": gale.EngineBlock, "event": gale.EngineEvent} {
		t.Run(name, func(t *testing.T) {
			for _, tt := range listTests(t, engine) {
				t.Run(tt.field+" by "+tt.by, func(t *testing.T) {
					for form, lines := range listForms(tt.elements) {
						if got := tt.ask(t, lines); got != tt.want {
							t.Errorf("%s: %q is read as %q, want %q", form, lines, got, tt.want)
						}
					}
				})
			}
		})
	}
}

// zippedOnce and zippedTwice are "hello" in gzip.
var zippedOnce, zippedTwice = string(gale.AppendGzipBytes(nil, []byte("hello"))),
	string(gale.AppendGzipBytes(nil, gale.AppendGzipBytes(nil, []byte("hello"))))

// listTests returns the rows. Servers use the engine, and end with the test.
func listTests(t *testing.T, engine gale.Engine) []listTest {
	var rows []listTest
	handlers := map[string]gale.RequestHandler{}
	server := &gale.Server{
		Engine:         engine,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		HTTP2:          gale.HTTP2Config{H2C: true},
		Handler:        func(ctx *gale.RequestCtx) { handlers[string(ctx.Path())](ctx) },
		Logger:         quietLogger{},
	}
	addr := listen(t, server)
	client := &gale.Client{}
	t.Cleanup(client.CloseIdleConnections)
	client2 := &gale.Client{HTTP2: gale.HTTP2Only}
	t.Cleanup(client2.CloseIdleConnections)

	add := func(field, by, want string, elements []string, ask func(t *testing.T, lines []string) string) {
		rows = append(rows, listTest{field, by, elements, want, ask})
	}
	// serve makes a path for h.
	serve := func(h gale.RequestHandler) (path string) {
		path = "/" + strconv.Itoa(len(handlers))
		handlers[path] = h
		return path
	}
	// request adds a row for a field of requests, over HTTP/1.1 with the other lines and the body.
	// see returns what the reader made of it.
	request := func(field, by, want string, elements []string, h gale.RequestHandler, method, others, body string, see func(r *http.Response, body string) string) {
		path := serve(h)
		add(field, by, want, elements, func(t *testing.T, lines []string) string {
			fields := others
			for _, l := range lines {
				fields += field + ": " + l + "\r\n"
			}
			return see(exchangeBytes(t, addr, method+" "+path+" HTTP/1.1\r\nHost: a\r\n"+fields+"\r\n"+body, method))
		})
	}
	// request2 is request over HTTP/2.
	request2 := func(field, by, want string, elements []string, h gale.RequestHandler, see func(r *gale.Response) string) {
		path := serve(h)
		add(field, by+", HTTP/2", want, elements, func(t *testing.T, lines []string) string {
			var req gale.Request
			var resp gale.Response
			req.SetRequestURI("http://" + addr + path)
			for _, l := range lines {
				req.Header.Add(field, l)
			}
			if err := client2.DoTimeout(&req, &resp, time.Minute); err != nil {
				t.Fatal(err)
			}
			return see(&resp)
		})
	}
	// response adds a row for a field of responses, which a client gets: see sends the request.
	response := func(field, by, want string, elements []string, rest string, see func(t *testing.T, addr string) string) {
		add(field, by, want, elements, func(t *testing.T, lines []string) string {
			fields := ""
			for _, l := range lines {
				fields += field + ": " + l + "\r\n"
			}
			return see(t, answering(t, strings.Replace(rest, "\r\n", "\r\n"+fields, 1)))
		})
	}
	body := func(_ *http.Response, body string) string { return body }
	status := func(r *http.Response, _ string) string { return strconv.Itoa(r.StatusCode) }
	coding := func(r *http.Response, _ string) string { return r.Header.Get("Content-Encoding") }
	coding2 := func(r *gale.Response) string { return string(r.Header.Peek("Content-Encoding")) }
	// says is a handler that answers with what it makes of the request.
	says := func(f func(ctx *gale.RequestCtx) string) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) { ctx.WriteString(f(ctx)) }
	}
	length := func(s string) string { return fmt.Sprintf("Content-Length: %d\r\n", len(s)) }

	// Framing and connections.
	closes := func(ctx *gale.RequestCtx) string { return fmt.Sprint(ctx.Request.Header.ConnectionClose()) }
	request("Connection", "server", "true", []string{"X-Other", "close"}, says(closes), "GET", "", "", body)
	upgrades := func(ctx *gale.RequestCtx) string { return fmt.Sprint(ctx.Request.Header.ConnectionUpgrade()) }
	request("Connection", "ConnectionUpgrade", "true", []string{"X-Other", "Upgrade"}, says(upgrades), "GET", "", "", body)
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	response("Connection", "client", "true", []string{"X-Other", "close"}, ok, func(t *testing.T, addr string) string {
		return fmt.Sprint(get(t, client, addr).Header.ConnectionClose())
	})
	request("Transfer-Encoding", "server", "501", []string{"gzip", "chunked"}, says(closes), "POST", "", "0\r\n\r\n", status)
	response("Transfer-Encoding", "client", "true", []string{"gzip", "chunked"}, "HTTP/1.1 200 OK\r\n\r\n0\r\n\r\n", func(t *testing.T, addr string) string {
		err := client.DoTimeout(requestTo(addr), new(gale.Response), time.Minute)
		return fmt.Sprint(err != nil)
	})
	mayContinue := func(ctx *gale.RequestCtx) string { return fmt.Sprint(ctx.Request.MayContinue()) }
	request("Expect", "MayContinue", "true", []string{"100-continue", "100-Continue"}, says(mayContinue), "POST", "Content-Length: 2\r\n", "ok", body)
	request("Expect", "server", "417", []string{"100-continue", "x"}, says(mayContinue), "POST", "Content-Length: 2\r\n", "ok", status)
	request2("Expect", "server", "417", []string{"100-continue", "x"}, says(mayContinue), func(r *gale.Response) string { return strconv.Itoa(r.StatusCode()) })
	trailers := func(ctx *gale.RequestCtx) string {
		return string(bytes.Join(ctx.Request.Header.PeekTrailerKeys(), []byte("|")))
	}
	request("Trailer", "server", "X-A|X-B", []string{"x-a", "X-B"}, says(trailers), "POST", "Transfer-Encoding: chunked\r\n", "0\r\n\r\n", body)
	response("Trailer", "client", "X-A|X-B", []string{"x-a", "X-B"}, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", func(t *testing.T, addr string) string {
		return string(bytes.Join(get(t, client, addr).Header.PeekTrailerKeys(), []byte("|")))
	})
	takes := says(func(ctx *gale.RequestCtx) string { return string(ctx.Request.Header.Peek("TE")) })
	request2("TE", "client", "trailers", []string{"deflate;q=0.5", "trailers"}, takes, func(r *gale.Response) string { return string(r.Body()) })

	// Content codings.
	uncompressed := says(func(ctx *gale.RequestCtx) string {
		b, err := ctx.Request.BodyUncompressed()
		return fmt.Sprintf("%s %v", b, err)
	})
	request("Content-Encoding", "Request.BodyUncompressed", "hello <nil>", []string{"identity", "gzip"}, uncompressed, "POST", length(zippedOnce), zippedOnce, body)
	request("Content-Encoding", "Request.BodyUncompressed of two", " "+gale.ErrContentEncodingUnsupported.Error(), []string{"gzip", "gzip"}, uncompressed, "POST", length(zippedTwice), zippedTwice, body)
	bind := func(ctx *gale.RequestCtx) {
		var v any
		err := ctx.BindJSON(&v)
		fmt.Fprintf(ctx, "%v", err)
	}
	request("Content-Encoding", "BindJSON", "the body must have no content coding", []string{"identity", "gzip"}, bind, "POST", "Content-Type: application/json\r\n"+length(zippedOnce), zippedOnce, body)
	form := "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nvalue\r\n--b--\r\n"
	zippedForm := string(gale.AppendGzipBytes(nil, []byte(form)))
	value := says(func(ctx *gale.RequestCtx) string { return string(ctx.FormValue("a")) })
	request("Content-Encoding", "FormValue", "value", []string{"identity", "gzip"}, value, "POST", "Content-Type: multipart/form-data; boundary=b\r\n"+length(zippedForm), zippedForm, body)
	for by, c := range map[string]*gale.Client{"BodyUncompressed": client, "Uncompress": {Uncompress: true}, "Uncompress of a stream": {Uncompress: true, StreamResponseBody: true}} {
		t.Cleanup(c.CloseIdleConnections)
		see := func(t *testing.T, addr string) string {
			b, err := get(t, c, addr).BodyUncompressed()
			return fmt.Sprintf("%s %v", b, err)
		}
		response("Content-Encoding", by, "hello <nil>", []string{"identity", "gzip"}, "HTTP/1.1 200 OK\r\n"+length(zippedOnce)+"\r\n"+zippedOnce, see)
		response("Content-Encoding", by+" of two", " "+gale.ErrContentEncodingUnsupported.Error(), []string{"gzip", "gzip"}, "HTTP/1.1 200 OK\r\n"+length(zippedTwice)+"\r\n"+zippedTwice, see)
	}
	long := strings.Repeat("hello ", 1000)
	plain := func(ctx *gale.RequestCtx) { ctx.WriteString(long) }
	compressing := gale.CompressHandler(plain)
	dir := t.TempDir()
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	rewrite := func(*gale.RequestCtx) []byte { return []byte("/a.txt") }
	fs := &gale.FS{Root: dir, Compress: true, GenerateETag: true, PathRewrite: rewrite}
	fromFS := fs.NewRequestHandler()
	for by, h := range map[string]gale.RequestHandler{
		"CompressHandler": compressing, "FS": fromFS, "SendFile": func(ctx *gale.RequestCtx) { ctx.SendFile(file) },
		"HasAcceptEncoding": func(ctx *gale.RequestCtx) {
			if ctx.Request.Header.HasAcceptEncoding("gzip") {
				ctx.Response.Header.SetContentEncoding("gzip")
			}
		},
	} {
		request("Accept-Encoding", by, "gzip", []string{"identity;q=0.5", "gzip"}, h, "GET", "", "", coding)
		request("Accept-Encoding", by+", refused", "", []string{"*", "gzip;q=0", "zstd;q=0", "deflate;q=0", "br;q=0"}, h, "GET", "", "", coding)
		request2("Accept-Encoding", by, "gzip", []string{"identity;q=0.5", "gzip"}, h, coding2)
	}

	// What a handler's response says.
	adds := func(field string) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			for _, v := range ctx.Request.Header.PeekAll("X-" + field) {
				ctx.Response.Header.AddBytesV(field, v)
			}
			ctx.WriteString(long)
		}
	}
	joined := func(field string) func(r *http.Response, body string) string {
		return func(r *http.Response, _ string) string { return elementsOf(r.Header[field]) }
	}
	answer := func(field, by, want string, elements []string, h gale.RequestHandler, see func(r *http.Response, body string) string) {
		n := len(rows)
		request("X-"+field, by, want, elements, h, "GET", "Accept-Encoding: gzip\r\n", "", see)
		rows[n].field = field
	}
	answer("Cache-Control", "CompressHandler", "", []string{"private", "no-transform"}, gale.CompressHandler(adds("Cache-Control")), coding)
	answer("Vary", "CompressHandler", "Origin|Accept-Encoding", []string{"Origin", "Accept-Encoding"}, gale.CompressHandler(adds("Vary")), joined("Vary"))
	answer("Vary", "CompressHandler, all", "Origin|*", []string{"Origin", "*"}, gale.CompressHandler(adds("Vary")), joined("Vary"))
	answer("Content-Encoding", "adaptor", "gzip|br", []string{"gzip", "br"}, adaptor.NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Encoding"] = r.Header["X-Content-Encoding"]
		io.WriteString(w, long)
	}), joined("Content-Encoding"))
	answer("Connection", "adaptor", "true", []string{"close", "X-Other"}, adaptor.NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Connection"] = r.Header["X-Connection"]
	}), func(r *http.Response, _ string) string { return fmt.Sprint(r.Close) })
	response("Content-Encoding", "RoundTripper", "gzip|br", []string{"gzip", "br"}, ok, func(t *testing.T, addr string) string {
		resp, err := adaptor.NewRoundTripper(client).RoundTrip(must(http.NewRequest("GET", "http://"+addr+"/", nil)))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return elementsOf(resp.Header["Content-Encoding"])
	})
	path := serve(func(ctx *gale.RequestCtx) {
		for _, v := range ctx.Request.Header.PeekAll("X-Link") {
			ctx.Response.Header.AddBytesV("Link", v)
		}
		_ = ctx.EarlyHints()
	})
	add("Link", "EarlyHints", "</a>|</b>", []string{"</a>", "</b>"}, func(t *testing.T, lines []string) string {
		head := "GET " + path + " HTTP/1.1\r\nHost: a\r\n"
		for _, l := range lines {
			head += "X-Link: " + l + "\r\n"
		}
		c, br := dialTo(t, addr)
		io.WriteString(c, head+"\r\n")
		r := must(http.ReadResponse(br, nil))
		if r.StatusCode != gale.StatusEarlyHints {
			t.Errorf("status %d", r.StatusCode)
		}
		return elementsOf(r.Header["Link"])
	})

	// Conditions and negotiation.
	fileTag := exchangeTag(t, addr, serve(fromFS))
	request("If-None-Match", "FS", "304", []string{`"x"`, fileTag}, fromFS, "GET", "", "", status)
	request("If-Match", "FS", "412", []string{`"x"`, `"y"`}, fromFS, "GET", "", "", status)
	fails := func(ctx *gale.RequestCtx) { ctx.Fail(400, io.ErrUnexpectedEOF) }
	problem := func(r *http.Response, _ string) string { return r.Header.Get("Content-Type") }
	request("Accept", "Fail", "application/problem+json", []string{"text/plain;q=0.5", "application/problem+json"}, fails, "GET", "", "", problem)

	// Addresses of the client.
	ip := says(func(ctx *gale.RequestCtx) string { return ctx.ClientIP().String() })
	request("X-Forwarded-For", "ClientIP", "192.0.2.1", []string{"192.0.2.1", "127.0.0.9"}, ip, "GET", "", "", body)
	request("Forwarded", "ClientIP", "192.0.2.1", []string{"for=192.0.2.1", "for=127.0.0.9"}, ip, "GET", "", "", body)

	// The reverse proxy. The upstream answers with the elements that it gets of the field that
	// X-Field names.
	upstream := listen(t, &gale.Server{Engine: engine, HTTP2: gale.HTTP2Config{H2C: true}, Logger: quietLogger{}, Handler: func(ctx *gale.RequestCtx) {
		var lines []string
		for _, l := range ctx.Request.Header.PeekAll(string(ctx.Request.Header.Peek("X-Field"))) {
			lines = append(lines, string(l))
		}
		ctx.WriteString(elementsOf(lines))
	}})
	proxy := &reverse.Proxy{Upstreams: []string{upstream}, TrustedProxies: server.TrustedProxies, Via: "me"}
	t.Cleanup(func() { proxy.Close() })
	proxy2 := &reverse.Proxy{Upstreams: []string{upstream}, HTTP2: gale.HTTP2Only}
	t.Cleanup(func() { proxy2.Close() })
	for _, x := range []struct {
		field, want string
		elements    []string
		others      string
	}{
		{"Upgrade", "websocket", []string{"h2c", "websocket"}, "Connection: Upgrade\r\n"},
		{"Upgrade", "foo|websocket", []string{"foo", "websocket"}, "Connection: Upgrade\r\n"},
		{"Via", "1.0 a|1.1 b|1.1 me", []string{"1.0 a", "1.1 b"}, ""},
		{"X-Forwarded-For", "192.0.2.1|192.0.2.2|127.0.0.1", []string{"192.0.2.1", "192.0.2.2"}, ""},
		{"X-Forwarded-Host", "a|b", []string{"a", "b"}, ""},
		{"X-Forwarded-Proto", "https|http", []string{"https", "http"}, ""},
		{"Forwarded", "for=a|for=127.0.0.1;proto=http;host=\"a\"", []string{"for=a"}, ""},
	} {
		request(x.field, "reverse", x.want, x.elements, proxy.Handler, "GET", "X-Field: "+x.field+"\r\n"+x.others, "", body)
	}
	request("Connection", "reverse", "", []string{"X-One", "X-Two"}, proxy.Handler, "GET", "X-One: 1\r\nX-Two: 2\r\nX-Field: X-Two\r\n", "", body)
	request("TE", "reverse", "trailers", []string{"deflate", "trailers"}, proxy2.Handler, "GET", "X-Field: TE\r\nConnection: TE\r\n", "", body)
	response("Upgrade", "reverse", "101 a|b", []string{"a", "b"}, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n", func(t *testing.T, upstream string) string {
		p := &reverse.Proxy{Upstreams: []string{upstream}}
		defer p.Close()
		front := listen(t, &gale.Server{Engine: engine, Handler: p.Handler, Logger: quietLogger{}})
		r, _ := exchangeBytes(t, front, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: a, b\r\n\r\n", "GET")
		return strconv.Itoa(r.StatusCode) + " " + elementsOf(r.Header["Upgrade"])
	})

	// WebSocket.
	echo := func(ctx *gale.RequestCtx) {
		_ = ws.Accept(ctx, func(c *ws.Conn) { c.Close(ws.StatusNormal, "") }, &ws.Options{Subprotocols: []string{"chat"}, Compression: &ws.Compression{}})
	}
	handshake := map[string]string{
		"Upgrade": "Upgrade: websocket\r\n", "Connection": "Connection: Upgrade\r\n",
		"Version": "Sec-WebSocket-Version: 13\r\n", "Key": "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
	}
	without := func(name string) (fields string) {
		for k, v := range handshake {
			if k != name {
				fields += v
			}
		}
		return fields
	}
	request("Upgrade", "ws", "101", []string{"foo", "websocket"}, echo, "GET", without("Upgrade"), "", status)
	request("Connection", "ws", "101", []string{"keep-alive", "Upgrade"}, echo, "GET", without("Connection"), "", status)
	request("Sec-WebSocket-Protocol", "ws", "chat", []string{"soap", "chat"}, echo, "GET", without(""), "", func(r *http.Response, _ string) string {
		return r.Header.Get("Sec-WebSocket-Protocol")
	})
	request("Sec-WebSocket-Extensions", "ws", "true", []string{"foo", "permessage-deflate"}, echo, "GET", without(""), "", func(r *http.Response, _ string) string {
		return fmt.Sprint(strings.HasPrefix(r.Header.Get("Sec-WebSocket-Extensions"), "permessage-deflate"))
	})
	for _, x := range []struct {
		field, others, want string
		elements            []string
	}{
		{"Connection", "Upgrade: websocket\r\n", "Sec-WebSocket-Accept", []string{"X-Other", "Upgrade"}}, // what is wrong comes later
		{"Upgrade", "Connection: Upgrade\r\n", "isn't websocket", []string{"websocket", "other"}},
	} {
		response(x.field, "ws.Dial", "true", x.elements, "HTTP/1.1 101 Switching Protocols\r\n"+x.others+"\r\n", func(t *testing.T, addr string) string {
			_, _, err := ws.Dial(context.Background(), "ws://"+addr+"/", nil)
			return fmt.Sprint(err != nil && strings.Contains(err.Error(), x.want))
		})
	}
	return rows
}

// quietLogger drops what a server logs.
type quietLogger struct{}

func (quietLogger) Printf(string, ...any) {}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// elementsOf returns the elements of a list, separated by "|".
func elementsOf(lines []string) string {
	var elements []string
	for e := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		if e = strings.Trim(e, " \t"); e != "" {
			elements = append(elements, e)
		}
	}
	return strings.Join(elements, "|")
}

// listen serves s until the end of the test.
func listen(t *testing.T, s *gale.Server) (addr string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

func dialTo(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	return c, bufio.NewReader(c)
}

// exchangeBytes sends a request and returns the final response to it.
func exchangeBytes(t *testing.T, addr, request, method string) (*http.Response, string) {
	t.Helper()
	c, br := dialTo(t, addr)
	defer c.Close()
	io.WriteString(c, request)
	for {
		r, err := http.ReadResponse(br, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%q: %v", request, err)
		}
		if r.StatusCode/100 == 1 && r.StatusCode != gale.StatusSwitchingProtocols {
			continue
		}
		if r.StatusCode == gale.StatusSwitchingProtocols {
			return r, ""
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatalf("%q: %v", request, err)
		}
		return r, string(b)
	}
}

// exchangeTag returns the entity tag of what is at path.
func exchangeTag(t *testing.T, addr, path string) string {
	r, _ := exchangeBytes(t, addr, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n", "GET")
	return r.Header.Get("ETag")
}

// answering answers the first request of each connection with these bytes, and ends.
func answering(t *testing.T, response string) (addr string) {
	return peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		if p.Request() != nil {
			p.Say(response)
		}
	}).Addr()
}

func requestTo(addr string) *gale.Request {
	req := new(gale.Request)
	req.SetRequestURI("http://" + addr + "/")
	return req
}

func get(t *testing.T, c *gale.Client, addr string) *gale.Response {
	t.Helper()
	resp := new(gale.Response)
	if err := c.DoTimeout(requestTo(addr), resp, time.Minute); err != nil {
		t.Fatal(err)
	}
	return resp
}

// TestListFieldsAreComplete proves that TestListFields has each list field of headers.go that
// Gale reads: each name is in that test, or in one of the tables here.
func TestListFieldsAreComplete(t *testing.T) {
	known := map[string]bool{}
	f, err := parser.ParseFile(token.NewFileSet(), "../../headers.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			known[must(strconv.Unquote(lit.Value))] = true
		}
		return true
	})
	places := map[string]string{}
	for _, tt := range listTests(t, gale.EngineBlock) {
		places[tt.field] = "TestListFields"
	}
	for table, names := range map[string][]string{"notLists": notLists, "unread": unreadLists} {
		for _, name := range names {
			if other := places[name]; other != "" {
				t.Errorf("%s is in %s and in %s", name, table, other)
			}
			places[name] = table
		}
	}
	for name := range known {
		if places[name] == "" {
			t.Errorf("%s is in no table", name)
		}
	}
	for name, table := range places {
		if !known[name] {
			t.Errorf("%s is in %s, but not in headers.go", name, table)
		}
	}
}

// unreadLists are fields whose value is a list, or may be, and that Gale only passes on.
var unreadLists = []string{
	"Accept-CH", "Accept-Charset", "Accept-Language", "Accept-Patch", "Accept-Query", "Accept-Ranges",
	"Accept-Signature", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
	"Access-Control-Expose-Headers", "Access-Control-Request-Headers", "Allow", "Alt-Svc", "Clear-Site-Data",
	"Content-Language", "Content-Security-Policy", "Content-Security-Policy-Report-Only", "Expect-CT",
	"Feature-Policy", "Keep-Alive", "Pragma", "Proxy-Authenticate", "Proxy-Connection", "Referrer-Policy",
	"Report-To", "Server-Timing", "Signature", "Signed-Headers", "Timing-Allow-Origin", "WWW-Authenticate",
	"Warning", "X-Robots-Tag", "X-UA-Compatible",
}

// notLists are fields with one value. Some have lists of another kind in it, as Cookie, but
// two lines of them aren't one list (RFC 9110 section 5.3).
var notLists = []string{
	"Accept-CH-Lifetime", "Accept-Push-Policy", "Access-Control-Allow-Credentials",
	"Access-Control-Allow-Origin", "Access-Control-Max-Age", "Access-Control-Request-Method", "Age",
	"Authorization", "Content-DPR", "Content-Disposition", "Content-Length", "Content-Location",
	"Content-Range", "Content-Type", "Cookie", "Cookie2", "Cross-Origin-Resource-Policy", "DNT", "DPR",
	"Date", "ETag", "Early-Data", "Expires", "From", "Host", "If-Modified-Since", "If-Range",
	"If-Unmodified-Since", "Index", "Large-Allocation", "Last-Event-ID", "Last-Modified", "Location",
	"Max-Forwards", "NEL", "Origin", "Ping-From", "Ping-To", "Proxy-Authorization", "Public-Key-Pins",
	"Public-Key-Pins-Report-Only", "Push-Policy", "Range", "Referer", "Retry-After", "Save-Data",
	"Sec-WebSocket-Accept", "Sec-WebSocket-Key", "Sec-WebSocket-Version", "Server", "Set-Cookie", "SourceMap",
	"Strict-Transport-Security", "Tk", "Upgrade-Insecure-Requests", "User-Agent", "Viewport-Width", "Width",
	"X-Content-Type-Options", "X-DNS-Prefetch-Control", "X-Download-Options", "X-Frame-Options",
	"X-Permitted-Cross-Domain-Policies", "X-Pingback", "X-Powered-By", "X-Requested-With", "X-XSS-Protection",
}
