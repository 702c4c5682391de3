package clients

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// rawCase is a case of the conformance corpus: the bytes to send, and when to send them.
type rawCase struct {
	ID    string
	Steps []struct {
		Send    []rawPart
		DelayMS int `json:"delay_ms"`
		Fin     bool
	}
	Destructive bool
}

// rawPart is a sequence of bytes. It is written as a string whose characters have the
// numbers of the bytes, or as bytes that are repeated.
type rawPart struct{ bytes []byte }

func (p *rawPart) UnmarshalJSON(b []byte) error {
	v := struct {
		Rep string
		N   int
	}{N: 1}
	err := json.Unmarshal(b, &v.Rep)
	if err != nil {
		err = json.Unmarshal(b, &v)
	}
	for _, r := range v.Rep {
		p.bytes = append(p.bytes, byte(r))
	}
	p.bytes = slices.Repeat(p.bytes, v.N)
	return err
}

// corpus returns the cases, or skips the test.
func corpus(t *testing.T) []rawCase {
	dir := os.Getenv("GALE_SHARED")
	if dir == "" {
		dir = "../../../shared"
	}
	b, err := os.ReadFile(filepath.Join(dir, "conformance", "h1cases.json"))
	if err != nil {
		t.Skip("not installed: the conformance corpus")
	}
	var list struct{ Cases []rawCase }
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Cases) < 100 {
		t.Fatalf("the corpus has %d cases", len(list.Cases))
	}
	return list.Cases
}

// passedServer counts the requests that a proxy forwards to it.
type passedServer struct {
	addr string

	mu      sync.Mutex
	numbers map[string]int // how often each request was seen, by the number that the proxy gave it
	refused int            // heads and bodies that the server refused
	conns   atomic.Int64
}

func newPassedServer(t *testing.T) *passedServer {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &passedServer{addr: ln.Addr().String(), numbers: map[string]int{}}
	s := &gale.Server{
		Logger: log.New(io.Discard, "", 0), // it gets many requests that it refuses
		HeaderReceived: func(h *gale.RequestHeader) gale.RequestConfig {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.numbers[string(h.Peek("X-Passed"))]++
			return gale.RequestConfig{}
		},
		Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("ok") },
		ErrorHandler: func(ctx *gale.RequestCtx, err error) {
			p.mu.Lock()
			p.refused++
			p.mu.Unlock()
			ctx.Error(err.Error(), gale.StatusBadRequest)
		},
		ConnState: func(_ net.Conn, state gale.ConnState) {
			if state == gale.StateNew {
				p.conns.Add(1)
			}
		},
	}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Shutdown() })
	return p
}

// passedRequest is a request that a proxy forwarded: the number that the proxy gave it,
// and the status that it logged.
type passedRequest struct{ number, status string }

// agrees compares the requests that the proxy forwarded with those that the server saw.
// Each request of the server must be one of the proxy's. Each request of the proxy that
// the server answered must have been seen or refused by the server.
func (p *passedServer) agrees(passed []passedRequest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	status := map[string]string{}
	var refused, lost []string
	for _, r := range passed {
		status[r.number] = r.status
		switch {
		case p.numbers[r.number] > 0:
		case r.status == "400":
			refused = append(refused, r.number)
		default:
			lost = append(lost, r.number+": "+r.status)
		}
	}
	if len(status) != len(passed) {
		return fmt.Errorf("the proxy gives %d numbers to %d requests", len(status), len(passed))
	}
	for number, times := range p.numbers {
		if times != 1 || status[number] == "" {
			return fmt.Errorf("the server saw the request with the number %q %d times; the proxy logged the status %q", number, times, status[number])
		}
	}
	if len(refused) > p.refused {
		return fmt.Errorf("the proxy says that %d heads were refused: %q, the server refused %d requests", len(refused), refused, p.refused)
	}
	// A proxy may give a request up after it has chosen a server and before it sends the
	// request.
	lost = slices.DeleteFunc(lost, func(s string) bool { return slices.Contains(gaveUp, s[strings.LastIndexByte(s, ' ')+1:]) })
	if len(lost) > 0 {
		return fmt.Errorf("the proxy passed on %d requests, of which the server didn't see %q", len(passed), lost)
	}
	return nil
}

// gaveUp are the statuses that proxies log if the server didn't answer.
var gaveUp = []string{"-1", "0", "408", "499", "502", "503", "504"}

// sendRaw sends a case to addr and reads until nothing more arrives.
func sendRaw(addr string, c rawCase) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() {
		for _, step := range c.Steps {
			time.Sleep(time.Duration(step.DelayMS) * time.Millisecond) // a part of the case
			for _, part := range step.Send {
				_ = conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
				if _, err := conn.Write(part.bytes); err != nil {
					return
				}
			}
			if step.Fin {
				_ = conn.(*net.TCPConn).CloseWrite()
			}
		}
	}()
	// Longer than the proxies wait for the rest of a request.
	_ = conn.SetReadDeadline(time.Now().Add(4 * time.Second))
	_, _ = io.Copy(io.Discard, conn)
	return nil
}

// The server reads exactly the requests that a proxy meant to forward: not one more,
// which would be smuggled, and not one less.
func TestProxied(t *testing.T) {
	t.Parallel()
	cases := corpus(t)
	for name, start := range map[string]func(t *testing.T, dir, behind string) (addr string, passed func() []passedRequest){
		"nginx": func(t *testing.T, dir, behind string) (string, func() []passedRequest) {
			path, listen := find(t, "nginx", "/usr/sbin/nginx"), freeAddr(t)
			conf := configured(t, dir, "nginx_proxy.conf", "{{DIR}}", dir, "{{LISTEN}}", listen, "{{BEHIND}}", behind)
			startPeer(t, listen, exec.Command(path, "-p", dir, "-c", conf, "-e", filepath.Join(dir, "error.log")))
			return listen, func() (passed []passedRequest) {
				b, err := os.ReadFile(filepath.Join(dir, "access.log"))
				if err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(string(b)) {
					if f := strings.Fields(line); len(f) > 2 && f[1] != "-" {
						passed = append(passed, passedRequest{f[0], f[2]})
					}
				}
				return passed
			}
		},
		"haproxy": func(t *testing.T, dir, behind string) (string, func() []passedRequest) {
			path, listen := find(t, "haproxy", "/usr/sbin/haproxy"), freeAddr(t)
			conf := configured(t, dir, "haproxy.cfg", "{{DIR}}", dir, "{{LISTEN}}", listen, "{{BEHIND}}", behind)
			cmd := exec.Command(path, "-db", "-f", conf)
			out := startPeer(t, listen, cmd)
			return listen, func() (passed []passedRequest) {
				for line := range strings.Lines(out.String()) {
					if f := strings.Fields(line); len(f) > 3 && f[0] == "passed" && f[2] == "gale" {
						passed = append(passed, passedRequest{f[1], f[3]})
					}
				}
				return passed
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPassedServer(t)
			addr, passed := start(t, t.TempDir(), s.addr)
			var wg sync.WaitGroup
			slots := make(chan struct{}, 48)
			for _, c := range cases {
				slots <- struct{}{}
				wg.Go(func() {
					defer func() { <-slots }()
					if err := sendRaw(addr, c); err != nil {
						t.Errorf("%s: %v", c.ID, err)
					}
				})
			}
			wg.Wait()
			// The proxy logs a request when it ends.
			var err error
			for end := time.Now().Add(patience); time.Now().Before(end); {
				if err = s.agrees(passed()); err == nil {
					break
				}
				time.Sleep(100 * time.Millisecond) // between two looks
			}
			if err != nil {
				t.Error(err)
			}
			n := len(passed())
			t.Logf("%d cases made %d requests that were passed on, over %d connections; the server refused %d", len(cases), n, s.conns.Load(), s.refused)
			if n < len(cases)/4 || int(s.conns.Load()) > n/2 {
				t.Errorf("that is not what a proxy that keeps its connections does")
			}
		})
	}
}
