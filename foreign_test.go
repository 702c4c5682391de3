package gale

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// foreignTest is a run of TestNothingForeign.
type foreignTest struct {
	t        *testing.T
	seed     uint64
	upstream string
	host     *HostClient
	pipe     *PipelineClient
	client   *Client
	files    RequestHandler

	mu  sync.Mutex
	rng *rand.Rand // of the handlers

	next    atomic.Int64 // number of the next canary
	handled atomic.Int64
	failed  atomic.Int32
	conns   sync.Map // canary to the *foreignConn with the canaries of its connection
	addrs   sync.Map // both addresses of a connection to its *foreignConn. A client's port may be in use for both servers at the same time
}

// foreignConn is one connection of a user.
type foreignConn struct {
	mu     sync.Mutex
	own    []string
	before *foreignConn // it had the same address, and may still be served
}

func (c *foreignConn) canaries() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := append([]string(nil), c.own...)
	if c.before != nil {
		own = append(own, c.before.own...)
	}
	return own
}

// TestNothingForeign proves that no request sees the bytes of another one. Two users do
// everything that a program can do, at the same time and with the same pools: handlers
// that set, panic, time out, hijack, flush and stream; clients that leave at any byte and
// send half and malformed heads; proxies whose upstreams break off anywhere. Each request
// is full of a canary that no other request has. No other canary may appear on the wire,
// through any getter, in an error or in a line of the log. GALE_FOREIGN_REQUESTS says how
// many requests are sent on each engine, and GALE_FOREIGN_SEED repeats a random choice of
// them. With the build tag randompools objects are used again in random order.
func TestNothingForeign(t *testing.T) {
	peers.UsedAgain(t)
	seed := gate.Rand.Uint64()
	if n, err := strconv.ParseUint(os.Getenv("GALE_FOREIGN_SEED"), 10, 64); err == nil {
		seed = n
	}
	total := int64(race.Fewer(gate.Form(15_000, 5000)))
	if n, err := strconv.ParseInt(os.Getenv("GALE_FOREIGN_REQUESTS"), 10, 64); err == nil {
		total = n
	}
	for _, e := range peers.Engines[Engine]() {
		t.Run(e.String(), func(t *testing.T) { testNothingForeign(t, e, seed, total) })
	}
}

func testNothingForeign(t *testing.T, e Engine, seed uint64, total int64) {
	f := &foreignTest{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 0))}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file.txt"), []byte(strings.Repeat("of nobody ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	f.files = (&FS{Root: dir, Compress: true, AcceptByteRange: true}).NewRequestHandler()
	f.upstream = foreignUpstream(t, f)
	f.host = &HostClient{Addr: f.upstream, MaxConns: 64, ReadTimeout: foreignTimeout, MaxIdemponentCallAttempts: 2}
	f.pipe = &PipelineClient{Addr: f.upstream, MaxConns: 4, ReadTimeout: foreignTimeout, Logger: f}
	f.client = &Client{MaxConnsPerHost: 64, ReadTimeout: foreignTimeout, MaxIdemponentCallAttempts: 2}
	var addrs []string
	for _, stream := range []bool{false, true} {
		s := &Server{
			Engine: e, Handler: f.handle, Logger: f, StreamRequestBody: stream, MaxRequestBodySize: 1 << 20,
			ErrorHandler: f.refused, PanicHandler: f.panicked, LogAllErrors: true,
		}
		addrs = append(addrs, startServer(t, s, nil).Addr)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			u := &foreignUser{f: f, rng: rand.New(rand.NewPCG(seed, uint64(i)+1)), name: "ab"[i%2], addr: addrs[i/2%2]}
			for f.next.Load() < total && f.failed.Load() == 0 {
				u.connect()
			}
		})
	}
	wg.Wait()
	f.host.CloseIdleConnections()
	f.client.CloseIdleConnections()
	if f.handled.Load() < total/4 {
		t.Errorf("of %d requests, handlers saw %d: the test doesn't do what it should", total, f.handled.Load())
	}
}

// failf reports a failure, and how to repeat it.
func (f *foreignTest) failf(format string, args ...any) {
	if f.failed.Add(1) <= 5 {
		f.t.Errorf("%s\n(GALE_FOREIGN_SEED=%d)", fmt.Sprintf(format, args...), f.seed)
	}
}

// check looks for canaries in b that aren't in own.
func (f *foreignTest) check(what string, b []byte, own ...string) {
	if found := peers.Foreign(b, own...); found != "" {
		f.failf(gate.Mark+"%s has %s in it:\n%.2000q", what, found, b)
	}
}

// Printf is the log. Each line is about one connection.
func (f *foreignTest) Printf(format string, args ...any) {
	line := fmt.Appendf(nil, format, args...)
	if i := bytes.Index(line, []byte("goroutine ")); i >= 0 {
		line = line[:i]
	}
	found := peers.Canaries.Find(line)
	if c, ok := f.conns.Load(string(found)); ok {
		f.check("a line of the log", line, c.(*foreignConn).canaries()...)
	}
}

// ofConn returns the canaries of the connection of ctx.
func (f *foreignTest) ofConn(ctx *RequestCtx) []string {
	if c, ok := f.addrs.Load(ctx.RemoteAddr().String() + " " + ctx.LocalAddr().String()); ok {
		return c.(*foreignConn).canaries()
	}
	return nil
}

// refused checks requests that could not be read, in whatever state they are.
func (f *foreignTest) refused(ctx *RequestCtx, err error) {
	var b bytes.Buffer
	showRequest(&b, &ctx.Request)
	showResponse(&b, &ctx.Response)
	show(&b, ctx)
	fmt.Fprint(&b, err)
	f.check("a request that was refused", b.Bytes(), f.ofConn(ctx)...)
	(*RequestCtx).defaultError(ctx, err)
}

func (f *foreignTest) panicked(ctx *RequestCtx, v any) {
	f.check("a panic", []byte(fmt.Sprint(v)), f.ofConn(ctx)...)
	f.look(ctx, fmt.Sprint(v))
}

// foreignUser is a client of one of the two users.
type foreignUser struct {
	f    *foreignTest
	rng  *rand.Rand
	name byte
	addr string
}

func (u *foreignUser) chance(n int) bool { return u.rng.IntN(n) == 0 }

// connect sends a few requests on a connection, and reads what comes.
func (u *foreignUser) connect() {
	f := u.f
	nc, err := net.Dial("tcp", u.addr)
	if err != nil {
		f.failf("%v", err)
		return
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(2 * time.Minute))
	c := new(foreignConn)
	addrs := nc.LocalAddr().String() + " " + nc.RemoteAddr().String()
	if before, ok := f.addrs.Load(addrs); ok {
		c.before = &foreignConn{own: before.(*foreignConn).canaries()}
	}
	f.addrs.Store(addrs, c)
	for range 1 + u.rng.IntN(4) {
		if !u.batch(nc, c) {
			return
		}
	}
}

// batch sends some requests at once, complete or cut off anywhere, and reports whether
// the connection can still be used.
func (u *foreignUser) batch(nc net.Conn, c *foreignConn) bool {
	f := u.f
	var out []byte
	var methods, own []string
	for range 1 + u.rng.IntN(3) {
		tok := canary(u.name, f.next.Add(1))
		f.conns.Store(tok, c)
		c.mu.Lock()
		c.own = append(c.own, tok)
		c.mu.Unlock()
		method, req := u.request(tok)
		methods, own, out = append(methods, method), append(own, tok), append(out, req...)
	}
	cut := u.chance(8)
	if cut {
		out = out[:u.rng.IntN(len(out))]
	}
	if u.chance(4) && len(out) > 1 { // in two pieces
		n := u.rng.IntN(len(out))
		if _, err := nc.Write(out[:n]); err != nil {
			return false
		}
		out = out[n:]
	}
	if _, err := nc.Write(out); err != nil {
		return false
	}
	switch {
	case cut && u.chance(2):
		_ = nc.(*net.TCPConn).SetLinger(0)
		return false
	case cut:
		_ = nc.(*net.TCPConn).CloseWrite()
	case u.chance(10):
		return false // without reading
	}
	var raw bytes.Buffer
	br := bufio.NewReader(io.TeeReader(nc, &raw))
	defer func() { f.check("what "+strings.Join(own, ", ")+" got", raw.Bytes(), c.canaries()...) }()
	for i := range own {
		if !u.read(br, methods[i], own[i]) {
			_, _ = io.Copy(io.Discard, br)
			return false
		}
	}
	return br.Buffered() == 0
}

// read reads one response and checks it.
func (u *foreignUser) read(br *bufio.Reader, method, own string) (more bool) {
	resp, err := http.ReadResponse(br, &http.Request{Method: method})
	for err == nil && resp.StatusCode < 200 {
		u.f.check("an interim response to "+own, []byte(fmt.Sprint(resp.Status, resp.Header)), own)
		resp, err = http.ReadResponse(br, &http.Request{Method: method})
	}
	if err != nil {
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			u.f.failf("no response to %s", own)
		}
		return false
	}
	body, err := io.ReadAll(resp.Body)
	if c, ok := compress.Parse([]byte(resp.Header.Get("Content-Encoding"))); ok && c != compress.Identity {
		body, _ = compress.AppendDecoded(nil, body, c, 1<<20)
	}
	u.f.check("the response to "+own, fmt.Append(nil, resp.Status, resp.Header, resp.Trailer, string(body)), own)
	return err == nil && !resp.Close
}

// request returns a request with the canary in every part that it has.
func (u *foreignUser) request(tok string) (method string, b []byte) {
	method = []string{"GET", "GET", "POST", "POST", "PUT", "HEAD"}[u.rng.IntN(6)]
	target := "/" + u.kind() + "/" + tok
	switch u.rng.IntN(4) {
	case 0:
		target += "?a=" + tok + "&" + tok + "=1#"[:u.rng.IntN(2)+2]
	case 1:
		target = "http://" + tok + ":" + tok + "@" + tok + ".example" + target
	}
	b = fmt.Appendf(b, "%s %s HTTP/1.%d\r\nHost: %s.example\r\n", method, target, min(1, u.rng.IntN(20)), tok)
	for range u.rng.IntN(5) {
		b = fmt.Appendf(b, []string{
			"X-Canary: %s\r\n", "X-%s: 1\r\n", "Cookie: a=%s; sid=1\r\n", "Cookie: %s=2\r\n", "Authorization: Basic %s\r\n", "User-Agent: %s\r\n",
			"Referer: http://%s/\r\n", "Connection: X-%s\r\n", "Accept-Encoding: gzip, br, %s\r\n", "Range: bytes=0-1%.0s\r\n",
			"Expect: 100-continue%.0s\r\n", "Connection: close%.0s\r\n", "Connection: Upgrade, %s\r\n",
		}[u.rng.IntN(13)], tok)
	}
	switch u.rng.IntN(25) {
	case 0: // malformed
		b = fmt.Appendf(b, []string{"no field %s\r\n", "X-%s : 1\r\n", "Content-Length: %s\r\n", "Host: %s, again\r\n", " %s\r\n", "Expect: %s\r\n"}[u.rng.IntN(6)], tok)
	case 1:
		b = fmt.Appendf(b, "X-Long: %s\r\n", strings.Repeat(tok, 2000)) // too long
	}
	if method == "GET" || method == "HEAD" {
		return method, append(b, "\r\n"...)
	}
	return method, u.appendBody(b, tok)
}

func (u *foreignUser) appendBody(b []byte, tok string) []byte {
	body := strings.Repeat(tok, 1+u.rng.IntN(3)*u.rng.IntN(300))
	switch u.rng.IntN(5) {
	case 0:
		body = "v=" + tok + "&" + tok + "=" + tok
		b = append(b, "Content-Type: application/x-www-form-urlencoded\r\n"...)
	case 1:
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		_ = w.WriteField("v", tok)
		_ = w.WriteField(tok, tok)
		if p, err := w.CreateFormFile("f", tok+".txt"); err == nil {
			_, _ = io.WriteString(p, body)
		}
		w.Close()
		body = form.String()
		b = fmt.Appendf(b, "Content-Type: %s\r\n", w.FormDataContentType())
	case 2:
		trailer := ""
		if u.chance(2) {
			b = fmt.Appendf(b, "Trailer: X-Trail, X-T%s\r\n", tok)
			trailer = fmt.Sprintf("X-Trail: %s\r\nX-T%s: %s\r\nX-Other: %s\r\n", tok, tok, tok, tok)
		}
		if u.chance(6) {
			trailer += "broken " + tok + "\r\n"
		}
		return fmt.Appendf(b, "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x;%s=1\r\n%s\r\n0\r\n%s\r\n", len(body), body, len(tok), tok, tok, trailer)
	}
	return fmt.Appendf(b, "Content-Length: %d\r\n\r\n%s", len(body), body)
}

// kind returns one of foreignKinds. It rarely returns a slow one.
func (u *foreignUser) kind() string {
	switch u.rng.IntN(40) {
	case 0:
		return "timeout"
	case 1:
		return "exit"
	case 2:
		return "panic"
	}
	all := []string{
		"nothing", "nothing", "nothing", "set", "set", "echo", "values", "abort", "timeouterror", "decline", "hijack", "hijacknow", "flush", "writer",
		"stream", "interim", "form", "redirect", "unread", "compress", "file", "upstream", "direct", "direct", "missing",
	}
	return all[u.rng.IntN(len(all))]
}
