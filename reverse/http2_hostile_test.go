package reverse_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

// frames is an upstream whose frames f writes, for each request, when the client knows the settings.
func frames(t *testing.T, f func(c *framer, conn, stream int)) (addr string, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	var conns atomic.Int64
	addr, _ = script(t, func(nc *net.TCPConn, br *bufio.Reader) {
		n := int(conns.Add(1))
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(br, preface); err != nil {
			return
		}
		c := &framer{nc: nc, Framer: http2.NewFramer(nc, br)}
		c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		_ = c.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 20})
		known, early := false, []int(nil) // whether the client knows the settings, and streams from before that
		answer := func(stream int) {
			asked.Add(1)
			f(c, n, stream)
		}
		for {
			fr, err := c.ReadFrame()
			if err != nil {
				return
			}
			switch fr := fr.(type) {
			case *http2.SettingsFrame:
				if !fr.IsAck() {
					_ = c.WriteSettingsAck()
					continue
				}
				known = true
				for _, stream := range early {
					answer(stream)
				}
				early = nil
			case *http2.PingFrame:
				_ = c.WritePing(true, fr.Data)
			case *http2.MetaHeadersFrame:
				if known {
					answer(int(fr.StreamID))
				} else {
					early = append(early, int(fr.StreamID))
				}
			}
		}
	})
	return addr, asked
}

type framer struct {
	*http2.Framer
	nc *net.TCPConn
}

// head sends a head. fields are alternating names and values.
func (c *framer) head(stream int, end bool, fields ...string) {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(stream), BlockFragment: b.Bytes(), EndStream: end, EndHeaders: true})
}

func (c *framer) answer(stream int) {
	c.head(stream, false, ":status", "200")
	_ = c.WriteData(uint32(stream), true, []byte("ok"))
}

// Upstreams that break off, are silent, or break the rules lead to the right status. What the
// upstream has not processed is sent again; nothing else with a body is.
func TestHTTP2UpstreamFaults(t *testing.T) { onEngines(t, testHTTP2UpstreamFaults) }

func testHTTP2UpstreamFaults(t *testing.T) {
	const short = 300 * time.Millisecond
	for _, tt := range []struct {
		name   string
		f      func(c *framer, conn, stream int)
		status [3]int // of a GET, a short POST and a long one; 0 if the response breaks off
		asked  [3]int64
	}{
		{"well", func(c *framer, _, s int) { c.answer(s) }, [3]int{200, 200, 200}, [3]int64{1, 1, 1}},
		{"reset", func(c *framer, _, s int) { _ = c.WriteRSTStream(uint32(s), http2.ErrCodeInternal) }, [3]int{502, 502, 502}, [3]int64{1, 1, 1}},
		{"refused once", func(c *framer, _, s int) {
			if s == 1 {
				_ = c.WriteRSTStream(uint32(s), http2.ErrCodeRefusedStream)
				return
			}
			c.answer(s)
		}, [3]int{200, 200, 502}, [3]int64{2, 2, 1}},
		{"always refused", func(c *framer, _, s int) { _ = c.WriteRSTStream(uint32(s), http2.ErrCodeRefusedStream) }, [3]int{502, 502, 502}, [3]int64{5, 5, 1}},
		{"GOAWAY before it", func(c *framer, n, s int) {
			if n == 1 {
				_ = c.WriteGoAway(0, http2.ErrCodeNo, nil)
				return
			}
			c.answer(s)
		}, [3]int{200, 200, 502}, [3]int64{2, 2, 1}},
		{"GOAWAY after it", func(c *framer, _, s int) {
			_ = c.WriteGoAway(uint32(s), http2.ErrCodeNo, nil)
			c.answer(s)
		}, [3]int{200, 200, 200}, [3]int64{1, 1, 1}},
		{"GOAWAY with an error", func(c *framer, _, s int) {
			_ = c.WriteGoAway(uint32(s), http2.ErrCodeEnhanceYourCalm, nil)
			c.nc.Close()
		}, [3]int{502, 502, 502}, [3]int64{1, 1, 1}},
		{"closed", func(c *framer, _, s int) { c.nc.Close() }, [3]int{502, 502, 502}, [3]int64{1, 1, 1}},
		{"silent", func(*framer, int, int) {}, [3]int{504, 504, 504}, [3]int64{1, 1, 1}},
		{"no rules", func(c *framer, _, s int) { _ = c.WriteData(uint32(s), false, []byte("early")) }, [3]int{502, 502, 502}, [3]int64{1, 1, 1}},
		{"upper case", func(c *framer, _, s int) { c.head(s, true, ":status", "200", "X-A", "1") }, [3]int{502, 502, 502}, [3]int64{1, 1, 1}},
		{"Connection", func(c *framer, _, s int) { c.head(s, true, ":status", "200", "connection", "close") }, [3]int{502, 502, 502}, [3]int64{1, 1, 1}},
		{"101", func(c *framer, _, s int) { c.head(s, false, ":status", "101") }, [3]int{502, 502, 502}, [3]int64{1, 1, 1}},
		{"large head", func(c *framer, _, s int) {
			big := strings.Repeat("a", 7000)
			c.head(s, true, ":status", "200", "a", big, "b", big, "c", big, "d", big, "e", big)
		}, [3]int{502, 502, 502}, [3]int64{1, 1, 1}},
		{"interims", func(c *framer, _, s int) {
			for range 200 {
				c.head(s, false, ":status", "103")
			}
			c.answer(s)
		}, [3]int{502, 502, 502}, [3]int64{1, 1, 1}},
		{"two lengths", func(c *framer, _, s int) {
			c.head(s, false, ":status", "200", "content-length", "1", "content-length", "2")
		}, [3]int{502, 502, 502}, [3]int64{1, 1, 1}},
		{"early", func(c *framer, _, s int) {
			c.head(s, false, ":status", "413")
			_ = c.WriteData(uint32(s), true, []byte("no"))
			_ = c.WriteRSTStream(uint32(s), http2.ErrCodeNo)
		}, [3]int{413, 413, 413}, [3]int64{1, 1, 1}},
		{"reset in the body", func(c *framer, _, s int) {
			c.head(s, false, ":status", "200", "content-length", "10")
			_ = c.WriteData(uint32(s), false, []byte("12345"))
			_ = c.WriteRSTStream(uint32(s), http2.ErrCodeInternal)
		}, [3]int{}, [3]int64{1, 1, 1}},
		{"closed in the body", func(c *framer, _, s int) {
			c.head(s, false, ":status", "200")
			_ = c.WriteData(uint32(s), false, []byte("12345"))
			c.nc.Close()
		}, [3]int{}, [3]int64{1, 1, 1}},
		{"short body", func(c *framer, _, s int) {
			c.head(s, false, ":status", "200", "content-length", "10")
			_ = c.WriteData(uint32(s), true, []byte("12345"))
		}, [3]int{}, [3]int64{1, 1, 1}},
		{"long body", func(c *framer, _, s int) {
			c.head(s, false, ":status", "200", "content-length", "3")
			_ = c.WriteData(uint32(s), true, []byte("12345"))
		}, [3]int{}, [3]int64{1, 1, 1}},
		{"stalls in the body", func(c *framer, _, s int) {
			c.head(s, false, ":status", "200", "content-length", "10")
			_ = c.WriteData(uint32(s), false, []byte("12345"))
		}, [3]int{}, [3]int64{1, 1, 1}},
	} {
		for i, request := range []string{get, post, long} {
			addr, asked := frames(t, func(c *framer, conn, stream int) {
				if i == 2 && tt.name == "well" { // the whole body is taken
					_ = c.WriteWindowUpdate(uint32(stream), 30000)
				}
				tt.f(c, conn, stream)
			})
			p := &reverse.Proxy{Upstreams: []string{addr}, HTTP2: gale.HTTP2Only, ResponseHeaderTimeout: short, BodyIdleTimeout: short}
			c, br := dial(t, serve(t, p))
			io.WriteString(c, request)
			resp, err := http.ReadResponse(br, nil)
			for err == nil && resp.StatusCode == 103 {
				resp, err = http.ReadResponse(br, nil)
			}
			status := 0
			if err == nil {
				if _, err = io.ReadAll(resp.Body); err == nil {
					status = resp.StatusCode
				}
			}
			want := tt.status[i]
			if want == 0 && status == 502 { // the fault came before the head was sent
				status = 0
			}
			if n := asked.Load(); status != want || n != tt.asked[i] {
				t.Errorf("%s: %.4s of %d bytes: status %d, %v, asked %d times; want %d, %d times", tt.name, request, len(request), status, err, n, want, tt.asked[i])
			}
			if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
				t.Errorf("%s: nothing ends the request", tt.name)
			}
			c.Close()
		}
	}
}

// When all streams of all connections are in use, requests wait for MaxConnWait and get 503.
func TestHTTP2Full(t *testing.T) { onEngines(t, testHTTP2Full) }

func testHTTP2Full(t *testing.T) {
	begun := make(chan int, 10)
	addr, _ := frames(t, func(c *framer, conn, stream int) { begun <- stream })
	proxyAddr := serve(t, &reverse.Proxy{Upstreams: []string{addr}, HTTP2: gale.HTTP2Only, MaxConns: 1, MaxConnWait: 100 * time.Millisecond})
	for range 2 { // as many as frames allows
		c, _ := dial(t, proxyAddr)
		io.WriteString(c, get)
		<-begun
	}
	for _, request := range []string{get, post, long} {
		c, br := dial(t, proxyAddr)
		io.WriteString(c, request)
		if head := readHead(br); !strings.HasPrefix(head, "HTTP/1.1 503 ") {
			t.Errorf("%.4s: %q", request, head)
		}
	}
}
