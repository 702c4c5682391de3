package peers

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// BigBody is a body that all responses share.
var BigBody = make([]byte, 1<<20)

var LongField = strings.Repeat("\x7e", 8<<10)

// Memory returns how much memory is in use.
func Memory() int64 {
	var m runtime.MemStats
	for range 2 { // pools are emptied by the second collection
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// WantMemory checks that not much more memory is in use than before.
func WantMemory(t *testing.T, before, more int64) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) { // between two looks
		now := Memory()
		if now <= before+more {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%d bytes are in use, %d before", now, before)
			return
		}
	}
}

// Pong waits for the answer to a PING, or GOAWAY with an error, and drops all other
// frames.
func (c *H2Conn) Pong() H2Frame {
	c.T.Helper()
	_ = c.Fr.WritePing(false, [8]byte{'s', 'y', 'n', 'c'}) // reading shows the end
	for c.Got = nil; ; {
		switch f := c.Next(); {
		case f.Kind == "pong" && f.Data == "sync\x00\x00\x00\x00", f.Kind == "goaway" && f.Code != 0, f.Kind == "eof":
			return f
		}
	}
}

// Burst sends n steps at once and returns the result of pong.
func (c *H2Conn) Burst(n int, step func(c *H2Conn)) H2Frame {
	c.T.Helper()
	w := &strings.Builder{}
	fr := c.Fr
	c.Fr = http2.NewFramer(w, nil)
	c.Fr.AllowIllegalWrites = true
	for range n {
		step(c)
	}
	c.Fr = fr
	_, _ = io.WriteString(c.Conn, w.String()) // reading shows the end
	return c.Pong()
}

// Bomb makes the field blocks of heads with count copies of one field. The first block
// puts that field into the table as its last entry.
func (c *H2Conn) Bomb(path, name, value string, count int) (first, next []byte) {
	again := strings.Repeat("\xbe", count-1)
	first = append(c.Block("POST", path, name, value), again...)
	return first, append(c.Block("POST", path), again+"\xbe"...)
}

func (c *H2Conn) Headers(block []byte, end, whole bool) uint32 {
	if c.Last++; c.Last%2 == 0 {
		c.Last++
	}
	c.Check(c.Fr.WriteHeaders(http2.HeadersFrameParam{StreamID: c.Last, BlockFragment: block, EndStream: end, EndHeaders: whole}))
	return c.Last
}

// H2Upload sends bodies over one connection as fast as the windows allow, one frame of each
// in turn.
type H2Upload struct {
	*H2Conn
	Window int
	Bodies []*H2UploadBody
}

type H2UploadBody struct {
	ID     uint32
	window int
	Rest   int    // bytes to send
	Status string // the end of the response
}

// Post begins a request with a body of size bytes.
func (u *H2Upload) Post(size int, declared bool) *H2UploadBody {
	fields := []string{"size", fmt.Sprint(size)}
	if declared {
		fields = append(fields, "content-length", fmt.Sprint(size))
	}
	b := &H2UploadBody{ID: u.Open("POST", "/", false, fields...), window: 1 << 16, Rest: size}
	u.Bodies = append(u.Bodies, b)
	return b
}

// Took notes what a frame of the server says.
func (u *H2Upload) Took(f H2Frame) {
	switch f.Kind {
	case "goaway", "eof":
		u.T.Fatalf("got %v", f)
	case "window":
		if f.Stream == 0 {
			u.Window += int(f.Code)
		}
	}
	for _, b := range u.Bodies {
		if b.ID != f.Stream {
			continue
		}
		switch f.Kind {
		case "window":
			b.window += int(f.Code)
		case "data":
		default:
			b.Status += f.Kind
		}
	}
}

// Send sends what the windows allow, and reads what the server says, until neither side goes
// on. It leaves keep bytes of each body.
func (u *H2Upload) Send(keep int) {
	piece := make([]byte, 16<<10)
	for more := true; more; {
		more = false
		for _, b := range u.Bodies {
			n := min(len(piece), u.Window, b.window, b.Rest-keep)
			if n <= 0 || b.Status != "" {
				continue
			}
			for i := range n {
				piece[i] = byte(b.ID)
			}
			b.Rest -= n
			b.window -= n
			u.Window -= n
			u.Check(u.Fr.WriteData(b.ID, b.Rest == 0, piece[:n]))
			more = true
		}
		if more {
			continue
		}
		u.Sync()
		for _, f := range u.Got {
			u.Took(f)
			more = true
		}
		u.Got = nil
	}
}

// H2Plain is a server of HTTP/2 and HTTP/1.1 that ends with its test.
type H2Plain struct {
	*Server
	TLS bool
}

// Client returns a client of net/http that speaks one protocol: 1 or 2.
func (hs *H2Plain) Client(major int) *http.Client {
	p := new(http.Protocols)
	p.SetHTTP1(major == 1)
	p.SetHTTP2(major == 2 && hs.TLS)
	p.SetUnencryptedHTTP2(major == 2 && !hs.TLS)
	tr := &http.Transport{Protocols: p, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableCompression: true, ExpectContinueTimeout: 30 * time.Second}
	hs.T.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (hs *H2Plain) URL(path string) string {
	if hs.TLS {
		return "https://" + hs.Addr + path
	}
	return "http://" + hs.Addr + path
}

// Get sends a GET by HTTP/2 and returns status and body.
func (hs *H2Plain) Get(c *http.Client, path string) (int, string) {
	hs.T.Helper()
	resp, err := c.Get(hs.URL(path))
	if err != nil {
		hs.T.Fatalf("GET %s: %v", path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		hs.T.Fatalf("GET %s: %v", path, err)
	}
	return resp.StatusCode, string(b)
}

// H2Conn is a client's connection that speaks frames.
type H2Conn struct {
	net.Conn
	T    *testing.T
	Fr   *http2.Framer
	Head bytes.Buffer
	Enc  *hpack.Encoder
	Last uint32

	Got []H2Frame // frames that arrived and were not asked for yet
}

// H2Frame is a frame from the server. Its kind is "103", "200" and so on for a head, and
// "data", "trailers", "end", "rst", "goaway", "settings", "ack", "ping", "window" or
// "eof" for others.
type H2Frame struct {
	Kind   string
	Stream uint32
	Code   uint32
	Fields map[string]string
	Data   string
	End    bool
}

func (f H2Frame) String() string {
	return fmt.Sprintf("%s[%d] code=%d %v %.40q end=%v", f.Kind, f.Stream, f.Code, f.Fields, f.Data, f.End)
}

// DialRaw opens a connection and sends nothing.
func (hs *H2Plain) DialRaw() net.Conn {
	hs.T.Helper()
	if hs.TLS {
		return hs.DialTLS([]string{"h2"})
	}
	c, err := net.Dial("tcp", hs.Addr)
	if err != nil {
		hs.T.Fatal(err)
	}
	return hs.use(c)
}

// DialTLS opens a TLS connection and offers protocols by ALPN.
func (hs *H2Plain) DialTLS(protocols []string) net.Conn {
	hs.T.Helper()
	c, err := tls.Dial("tcp", hs.Addr, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols})
	if err != nil {
		hs.T.Fatal(err)
	}
	return hs.use(c)
}

// use closes a connection at the end of the test.
func (hs *H2Plain) use(c net.Conn) net.Conn {
	c.SetDeadline(time.Now().Add(time.Minute)) // which only ends a test that hangs
	hs.T.Cleanup(func() { c.Close() })
	return c
}

// DialH2 opens a connection and begins HTTP/2 with these settings.
func (hs *H2Plain) DialH2(settings ...http2.Setting) *H2Conn {
	hs.T.Helper()
	return NewH2Conn(hs.T, hs.DialRaw(), settings...)
}

// NewH2Conn begins HTTP/2 on a connection.
func NewH2Conn(t *testing.T, nc net.Conn, settings ...http2.Setting) *H2Conn {
	t.Helper()
	c := &H2Conn{Conn: nc, T: t}
	c.Fr = http2.NewFramer(c, c)
	c.Fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.Fr.SetMaxReadFrameSize(1 << 20)
	c.Enc = hpack.NewEncoder(&c.Head)
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		c.T.Fatal(err)
	}
	c.Check(c.Fr.WriteSettings(settings...))
	return c
}

func (c *H2Conn) Check(err error) {
	c.T.Helper()
	if err != nil {
		c.T.Fatal(err)
	}
}

// Open sends a head. fields are alternating names and values that follow the
// pseudo-headers.
func (c *H2Conn) Open(method, path string, end bool, fields ...string) (stream uint32) {
	c.T.Helper()
	if c.Last++; c.Last%2 == 0 {
		c.Last++
	}
	c.Check(c.Fr.WriteHeaders(http2.HeadersFrameParam{StreamID: c.Last, BlockFragment: c.Block(method, path, fields...), EndStream: end, EndHeaders: true}))
	return c.Last
}

// Block encodes the head of a request.
func (c *H2Conn) Block(method, path string, fields ...string) []byte {
	all := append([]string{":method", method, ":scheme", "http", ":path", path, ":authority", "h"}, fields...)
	c.Head.Reset()
	for i := 0; i < len(all); i += 2 {
		_ = c.Enc.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]})
	}
	return bytes.Clone(c.Head.Bytes())
}

func (c *H2Conn) Data(stream uint32, data string, end bool) {
	c.T.Helper()
	c.Check(c.Fr.WriteData(stream, end, []byte(data)))
}

// Trailers ends a request with a trailer section. fields are alternating names and values.
func (c *H2Conn) Trailers(stream uint32, fields ...string) {
	c.T.Helper()
	c.Head.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = c.Enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	c.Check(c.Fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.Head.Bytes(), EndStream: true, EndHeaders: true}))
}

func (c *H2Conn) Reset(stream uint32) {
	c.T.Helper()
	c.Check(c.Fr.WriteRSTStream(stream, http2.ErrCodeCancel))
}

// Next reads a frame. At the end of the connection it returns "eof".
func (c *H2Conn) Next() H2Frame {
	f, err := c.Fr.ReadFrame()
	if err != nil {
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			c.T.Helper()
			c.T.Fatalf("nothing comes: %v", c.Got)
		}
		return H2Frame{Kind: "eof", Data: err.Error()}
	}
	out := H2Frame{Stream: f.Header().StreamID}
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		out.Kind, out.End, out.Fields = "trailers", f.StreamEnded(), map[string]string{}
		for _, x := range f.Fields {
			if out.Fields[x.Name] = x.Value; x.Name == ":status" {
				out.Kind = x.Value
			}
		}
	case *http2.DataFrame:
		out.Kind, out.Data, out.End = "data", string(f.Data()), f.StreamEnded()
	case *http2.RSTStreamFrame:
		out.Kind, out.Code = "rst", uint32(f.ErrCode)
	case *http2.GoAwayFrame:
		out.Kind, out.Stream, out.Code = "goaway", f.LastStreamID, uint32(f.ErrCode)
	case *http2.SettingsFrame:
		if out.Kind = "settings"; f.IsAck() {
			out.Kind = "ack"
		}
	case *http2.PingFrame:
		if out.Kind = "ping"; f.IsAck() {
			out.Kind, out.Data = "pong", string(f.Data[:])
		}
	case *http2.WindowUpdateFrame:
		out.Kind, out.Code = "window", f.Increment
	default:
		out.Kind = f.Header().Type.String()
	}
	return out
}

// Await reads until a frame of one of the kinds comes on a stream, and keeps the others.
func (c *H2Conn) Await(stream uint32, kinds ...string) H2Frame {
	c.T.Helper()
	wanted := func(f H2Frame) bool {
		return (f.Stream == stream || f.Kind == "goaway" || f.Kind == "eof") && (slices.Contains(kinds, f.Kind) || f.End && slices.Contains(kinds, "end"))
	}
	for i, f := range c.Got {
		if wanted(f) {
			c.Got = slices.Delete(c.Got, i, i+1)
			return f
		}
	}
	for {
		f := c.Next()
		if wanted(f) {
			return f
		}
		if f.Kind == "eof" {
			c.T.Fatalf("the connection ended (%s) before %v on stream %d; got %v", f.Data, kinds, stream, c.Got)
		}
		c.Got = append(c.Got, f)
	}
}

// Answer reads a whole response: status, fields and body.
func (c *H2Conn) Answer(stream uint32) (status string, fields map[string]string, body string) {
	c.T.Helper()
	var calm []H2Frame // GOAWAY without an error
	defer func() { c.Got = append(c.Got, calm...) }()
	for {
		f := c.Await(stream, "100", "103", "200", "204", "400", "403", "404", "405", "408", "413", "414", "417", "429", "431", "500", "501", "503", "data", "trailers", "rst", "goaway")
		switch {
		case f.Kind == "data":
			body += f.Data
		case f.Kind == "goaway" && f.Code == 0:
			calm = append(calm, f)
		case f.Kind == "rst" || f.Kind == "goaway":
			return fmt.Sprintf("%s %d", f.Kind, f.Code), fields, body
		case f.Kind == "trailers":
		case !strings.HasPrefix(f.Kind, "1"):
			status, fields = f.Kind, f.Fields
		}
		if f.End {
			return status, fields, body
		}
	}
}

// WantAnswer reads a whole response and checks it.
func (c *H2Conn) WantAnswer(stream uint32, status, body string) map[string]string {
	c.T.Helper()
	gotStatus, fields, gotBody := c.Answer(stream)
	if gotStatus != status || gotBody != body {
		c.T.Fatalf("stream %d got %s %.200q, want %s %.200q", stream, gotStatus, gotBody, status, body)
	}
	return fields
}

// Sync returns when the server has read all that was sent before.
func (c *H2Conn) Sync() {
	c.T.Helper()
	c.Check(c.Fr.WritePing(false, [8]byte{'s', 'y', 'n', 'c'}))
	c.Await(0, "pong")
}

// WantAlive checks that the connection still serves.
func (c *H2Conn) WantAlive() {
	c.T.Helper()
	if status, _, _ := c.Answer(c.Open("GET", "/alive", true)); status != "200" {
		c.T.Fatalf("the connection is not served on: %s", status)
	}
}

// Connect sends an extended CONNECT.
func (c *H2Conn) Connect(path string) uint32 {
	c.T.Helper()
	return c.Open("CONNECT", path, false, ":protocol", "websocket")
}

// WantEnd checks how the server ends a stream.
func (c *H2Conn) WantEnd(stream uint32, kind string, code http2.ErrCode) {
	c.T.Helper()
	if f := c.Await(stream, "rst", "end"); f.Kind != kind || f.Code != uint32(code) {
		c.T.Fatalf("stream %d ended with %v, want %s %v", stream, f, kind, code)
	}
}

// get returns the taken stream, which is closed at the end of the test.
func GetTaken(t *testing.T, taken chan net.Conn) net.Conn {
	t.Helper()
	select {
	case nc := <-taken:
		t.Cleanup(func() { nc.Close() })
		return nc
	case <-time.After(time.Minute):
		t.Fatal("the stream wasn't handed over")
		return nil
	}
}

// OpenFields sends a head that has only these fields.
func (c *H2Conn) OpenFields(fields ...string) uint32 {
	c.T.Helper()
	c.Last += 2
	c.Head.Reset()
	for i := 0; i < len(fields); i += 2 {
		c.Check(c.Enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	c.Check(c.Fr.WriteHeaders(http2.HeadersFrameParam{StreamID: c.Last, BlockFragment: c.Head.Bytes(), EndHeaders: true}))
	return c.Last
}

func Want(t *testing.T, r io.Reader, text string) {
	t.Helper()
	b := make([]byte, len(text))
	if _, err := io.ReadFull(r, b); err != nil || string(b) != text {
		t.Fatalf("read %q, %v, want %q", b, err, text)
	}
}

func Put(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if n, err := io.WriteString(w, text); n != len(text) || err != nil {
		t.Fatalf("Write: %d, %v", n, err)
	}
}

func Check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Together sends everything that write writes at once, so that the server most likely
// reads it at once.
func (c *H2Conn) Together(write func()) {
	c.T.Helper()
	var b bytes.Buffer
	fr := c.Fr
	c.Fr = http2.NewFramer(&b, nil)
	write()
	c.Fr = fr
	_, err := c.Write(b.Bytes())
	c.Check(err)
}

// WantData reads DATA of a stream.
func (c *H2Conn) WantData(stream uint32, want string) {
	c.T.Helper()
	got := ""
	for len(got) < len(want) {
		got += c.Await(stream, "data").Data
	}
	if !strings.HasPrefix(got, want) || len(got) > len(want) {
		c.T.Fatalf("got %q, want %q", got, want)
	}
}

// ServeH2 serves s, which speaks HTTP/2 and HTTP/1.1, until the test ends.
func ServeH2(t *testing.T, s Service, log *Log, secure bool, certify Certify) *H2Plain {
	t.Helper()
	if secure {
		return &H2Plain{ServeTLS(t, s, log, certify), true}
	}
	return &H2Plain{Serve(t, s, log, nil, nil), false}
}

// StartUpload makes a connection to send bodies on.
func (hs *H2Plain) StartUpload() *H2Upload {
	u := &H2Upload{H2Conn: hs.DialH2(), Window: 1<<16 - 1}
	u.Sync()
	for _, f := range u.Got {
		u.Took(f)
	}
	u.Got = nil
	return u
}
