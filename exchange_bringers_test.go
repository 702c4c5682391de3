package gale_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/galetest"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// request is a request that a bringer brings.
type request struct {
	method   string
	path     string
	body     string
	fields   []string // alternating names and values
	trailers []string // likewise
	unsized  bool     // the client doesn't send the length of the body
}

// answered is what a client gets for a request.
type answered struct {
	status  int
	header  http.Header
	length  int64 // as the head says, -1 if it doesn't
	body    string
	trailer http.Header
	interim []string // status, X-Sign and Link
	err     error    // there is no response
	broken  bool     // the body is not complete
}

// bringer is an exchange that brings requests to a RequestCtx. It answers with the handler of a
// server, and with its settings if it is that server.
type bringer struct {
	name     string
	start    func(*testing.T, *gale.Server) asker
	compares func(field string) bool // which fields of the response are as by HTTP/1.1

	engine gale.Engine
	secure bool
}

// asker sends a request and returns the answer. All go over the same connection, if there is one
// and the answers let it live.
type asker func(*request) answered

var bringers = []bringer{
	onGale(gale.EngineBlock, 1, false),
	onGale(gale.EngineEvent, 1, false),
	onGale(gale.EngineBlock, 2, false),
	onGale(gale.EngineEvent, 2, false),
	{name: "net/http", start: func(t *testing.T, s *gale.Server) asker { return onNetHTTP(t, s, false) }, compares: noServerField},
	{name: "net/http h2", start: func(t *testing.T, s *gale.Server) asker { return onNetHTTP(t, s, true) }, compares: noServerField},
	{name: "toy", start: onToy, compares: ofProgram},
	{name: "recorder", start: onRecorder, compares: ofProgram},
	{name: "no exchange", start: onNoExchange, compares: ofProgram},
}

// overTLS are those of Gale over TLS.
var overTLS = []bringer{
	onGale(gale.EngineBlock, 1, true),
	onGale(gale.EngineEvent, 1, true),
	onGale(gale.EngineBlock, 2, true),
	onGale(gale.EngineEvent, 2, true),
}

// ofConnection are the fields that aren't compared, since only one protocol has them or they change.
var ofConnection = []string{"Connection", "Transfer-Encoding", "Date", "Keep-Alive", "Upgrade"}

func anyField(name string) bool      { return !slices.Contains(ofConnection, name) }
func noServerField(name string) bool { return anyField(name) && name != "Server" }

// ofProgram reports whether only the program sets a field. Others depend on how bytes are sent.
func ofProgram(name string) bool {
	return noServerField(name) && name != "Content-Length" && name != "Content-Type" && name != "Trailer"
}

// serve asks h for "POST /", with the body "body", whose length isn't known, and the trailer
// section "X-Trailer: t".
func (b *bringer) serve(t *testing.T, h gale.RequestHandler) answered {
	ask := b.start(t, &gale.Server{Handler: h, StreamRequestBody: true, ConnContext: ofConn})
	a := ask(&request{method: "POST", path: "/", body: "body", trailers: []string{"X-Trailer", "t"}, unsized: true})
	if a.err != nil || a.broken {
		t.Fatalf("%s answers %+v", b.name, a)
	}
	return a
}

func ofConn(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, gale.ToyKey, "of the connection")
}

// rounds returns how many requests a test sends.
func (b *bringer) rounds() int {
	switch {
	case !race.Enabled:
		return 3
	case b.secure:
		return 1
	}
	return 2
}

// settles reports whether the settings of s matter. Those that only say how the body arrives don't.
func settles(s *gale.Server) bool {
	was := s.StreamRequestBody
	defer func() { s.StreamRequestBody = was }()
	s.StreamRequestBody = false
	return !reflect.ValueOf(s).Elem().IsZero()
}

func onGale(engine gale.Engine, major int, secure bool) bringer {
	name := fmt.Sprintf("h%d %s", major, engine)
	if secure {
		name += " tls"
	}
	return bringer{name: name, engine: engine, secure: secure, compares: anyField, start: func(t *testing.T, s *gale.Server) asker {
		hs := harness.H2Way{Engine: engine, TLS: secure}.Start(t, s)
		c := hs.Client(major)
		return func(r *request) answered { return r.send(t, c, hs.URL(r.path)) }
	}}
}

func onNetHTTP(t *testing.T, gs *gale.Server, h2 bool) asker {
	s := httptest.NewUnstartedServer(adaptor.NewHTTPHandler(gs.Handler))
	s.Config.ConnContext, s.Config.ErrorLog = ofConn, log.New(io.Discard, "", 0)
	if h2 {
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	c := s.Client()
	tr := c.Transport.(*http.Transport)
	tr.DisableCompression, tr.ExpectContinueTimeout = true, 30*time.Second
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func(r *request) answered { return r.send(t, c, s.URL+r.path) }
}

// send sends the request with net/http's client. If the server closes the connection before the
// client has sent all, as it may after CloseRequestBody, the client may lose the answer: then send
// sends it again.
func (r *request) send(t *testing.T, c *http.Client, url string) (a answered) {
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			if code != http.StatusContinue {
				a.interim = append(a.interim, fmt.Sprint(code, " ", h.Get("X-Sign"), h.Get("Link")))
			}
			return nil
		},
	})
	for range 20 {
		a.interim = nil
		resp, err := c.Do(r.http(t, ctx, url))
		if errors.Is(err, syscall.EPIPE) {
			continue
		}
		if err != nil {
			return answered{err: err}
		}
		return a.of(resp)
	}
	t.Fatalf("%s has never answered", url)
	return a
}

func (r *request) http(t *testing.T, ctx context.Context, url string) *http.Request {
	var body io.Reader
	switch {
	case r.unsized || len(r.trailers) > 0:
		body = io.MultiReader(strings.NewReader(r.body))
	case r.body != "":
		body = strings.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, url, body)
	if err != nil {
		t.Fatalf("the request: %v", err)
	}
	req.Host = "example.com"
	req.Header.Set("User-Agent", "me")
	for i := 0; i < len(r.fields); i += 2 {
		req.Header.Add(r.fields[i], r.fields[i+1])
	}
	if len(r.trailers) > 0 {
		req.Trailer = http.Header{}
		for i := 0; i < len(r.trailers); i += 2 {
			req.Trailer.Set(r.trailers[i], r.trailers[i+1])
		}
	}
	return req
}

// of returns a with what resp says.
func (a answered) of(resp *http.Response) answered {
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	a.status, a.header, a.length, a.body, a.trailer, a.broken = resp.StatusCode, resp.Header, resp.ContentLength, string(b), resp.Trailer, err != nil
	return a
}

// short returns status and body.
func (a answered) short() string {
	switch {
	case a.err != nil:
		return "error"
	case a.broken:
		return "broken off"
	}
	return fmt.Sprint(a.status, " ", a.body)
}

// text returns all of it, to compare, with those fields that compares wants.
func (a answered) text(compares func(string) bool) string {
	if a.err != nil {
		return "error"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", a.status)
	for _, k := range slices.Sorted(maps.Keys(a.header)) {
		if compares(k) {
			fmt.Fprintf(&b, "%s: %q\n", k, strings.ReplaceAll(strings.Join(a.header[k], "|"), "https:", "http:"))
		}
	}
	if a.broken {
		return b.String() + "broken off"
	}
	if compares("Content-Length") {
		fmt.Fprintf(&b, "length %d\n", a.length)
	}
	fmt.Fprintf(&b, "%s\n", a.body)
	for _, k := range slices.Sorted(maps.Keys(a.trailer)) {
		fmt.Fprintf(&b, "trailer %s: %q\n", k, a.trailer[k])
	}
	return b.String()
}

// asFields returns the lines "name: value" as a header.
func asFields(lines string) http.Header {
	h := http.Header{}
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		if name != "" {
			h.Add(name, value)
		}
	}
	return h
}

func onToy(t *testing.T, s *gale.Server) asker {
	peers.LogTo(&s.Logger)
	c := gale.NewToyConn(s)
	t.Cleanup(c.Wait)
	return func(r *request) (a answered) {
		fields := append([]string{"Host", "example.com", "User-Agent", "me"}, r.fields...)
		switch {
		case r.unsized || len(r.trailers) > 0:
			fields = append(fields, "Transfer-Encoding", "chunked")
		case r.body != "" || r.method == "POST" || r.method == "PUT":
			fields = append(fields, "Content-Length", fmt.Sprint(len(r.body)))
		}
		n := c.Open(r.method, r.path, fields...)
		c.Data(n, r.body)
		c.End(n, r.trailers...)
		a.err = io.ErrUnexpectedEOF
		for _, f := range c.Await(n, "end", "reset") {
			switch f.Kind {
			case "interim":
				if h := asFields(f.Text); f.Code != gale.StatusContinue {
					a.interim = append(a.interim, fmt.Sprint(f.Code, " ", h.Get("X-Sign"), h.Get("Link")))
				}
			case "head":
				a.status, a.header, a.err = f.Code, asFields(f.Text), nil
			case "data":
				a.body += f.Text
			case "trailers":
				a.trailer = asFields(f.Text)
			case "reset":
				a.broken = true
			}
		}
		return a
	}
}

func onRecorder(_ *testing.T, s *gale.Server) asker {
	return func(r *request) (a answered) {
		res := galetest.Record(s.Handler, galetest.NewContextOf(r.gale()))
		for _, i := range res.Interim {
			a.interim = append(a.interim, fmt.Sprintf("%d %s%s", i.StatusCode(), i.Header.Peek("X-Sign"), i.Header.Peek("Link")))
		}
		return a.written(res.Response, r.method, res.Err)
	}
}

// written returns a with what resp says when it is written. err says why it isn't complete.
func (a answered) written(resp *gale.Response, method string, err error) answered {
	var b bytes.Buffer
	switch {
	case method == "HEAD":
		resp.SkipBody = true
	case resp.SkipBody, resp.StatusCode() == gale.StatusResetContent:
		resp.ResetBody()
		resp.SkipBody = false
	}
	_, werr := resp.WriteTo(&b)
	got, rerr := http.ReadResponse(bufio.NewReader(&b), &http.Request{Method: method})
	if e := cmp.Or(werr, rerr); e != nil {
		return answered{err: e}
	}
	a = a.of(got)
	a.broken = a.broken || err != nil
	return a
}

// gale returns the request for a context.
func (r *request) gale() *gale.Request {
	var req gale.Request
	req.Header.SetMethod(r.method)
	req.SetRequestURI(r.path)
	req.Header.SetHost("example.com")
	req.Header.SetUserAgent("me")
	for i := 0; i < len(r.fields); i += 2 {
		req.Header.Add(r.fields[i], r.fields[i+1])
	}
	if r.body != "" {
		req.SetBodyString(r.body)
	}
	return &req
}

func onNoExchange(_ *testing.T, s *gale.Server) asker {
	return func(r *request) answered {
		var ctx gale.RequestCtx
		ctx.Init(r.gale(), &net.TCPAddr{IP: net.IPv4(192, 0, 2, 9)}, nil)
		s.Handler(&ctx)
		resp := ctx.LastTimeoutErrorResponse()
		if resp == nil {
			resp = &ctx.Response
		}
		return answered{status: resp.StatusCode(), body: string(resp.Body())}
	}
}

// leftOut are the rows of TestParity that a bringer doesn't bring, and why.
var leftOut = []struct {
	bringers []string // names, or their first words
	which    func(*parityRow) bool
	rows     []string
	why      string
}{
	{[]string{"net/http", "recorder"}, func(row *parityRow) bool { return settles(row.s) }, nil, "there is no gale.Server, so its settings don't apply"},
	{[]string{"net/http", "recorder", "toy"}, nil, []string{"long target"}, "there is no limit of a gale.Server for heads"},
	{[]string{"recorder"}, nil, []string{"Goexit", "panic", "panic after TimeoutError", "abort after TimeoutError", "panic in TimeoutHandler", "panic after flush", "abort", "hook panics", "hook aborts", "stream panics", "writer panics"}, "Record panics, too"},
	{[]string{"recorder"}, func(row *parityRow) bool { return row.s.StreamRequestBody || len(row.trailers) > 0 || row.unsized }, nil, "the body of its request is in memory, without trailers"},
	{[]string{"recorder"}, func(row *parityRow) bool { return slices.Contains(row.fields, "Expect") }, nil, "no client waits for a 100"},
	{[]string{"net/http h2"}, nil, []string{"get", "fields", "delete", "post empty"}, "net/http gives every request of HTTP/2 a body"},
	{[]string{"toy"}, nil, []string{"flush with a length", "flush short of the length", "stream too short", "stream too long"}, "its head promises no length"},
	{[]string{"no exchange"}, func(*parityRow) bool { return true }, nil, "nothing is sent"},
}

// lacks says why b doesn't bring a row, or returns "".
func (b *bringer) lacks(row *parityRow) string {
	first, _, _ := strings.Cut(b.name, " ")
	for _, l := range leftOut {
		if !slices.Contains(l.bringers, b.name) && !slices.Contains(l.bringers, first) {
			continue
		}
		if l.which != nil && l.which(row) || slices.Contains(l.rows, row.name) {
			return l.why
		}
	}
	return ""
}

// checkExceptions proves that leftOut, and what rows say of bringers, is about rows and bringers that
// there are.
func checkExceptions(t *testing.T, rows []parityRow) {
	names := []string{""}
	for _, b := range bringers {
		first, _, _ := strings.Cut(b.name, " ")
		names = append(names, b.name, first)
	}
	has := func(name string) bool { return slices.Contains(names, name) }
	for _, row := range rows {
		for name := range row.want {
			if !has(name) {
				t.Errorf("%s: there is no bringer %q", row.name, name)
			}
		}
	}
	for _, l := range leftOut {
		for _, name := range l.bringers {
			if !has(name) {
				t.Errorf("there is no bringer %q", name)
			}
		}
		for _, name := range l.rows {
			if !slices.ContainsFunc(rows, func(row parityRow) bool { return row.name == name }) {
				t.Errorf("there is no row %q", name)
			}
		}
	}
}
