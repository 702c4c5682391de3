package gale

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// No request follows a CONNECT or an Upgrade on its connection. If the server accepts it,
// later requests would go into the tunnel.
func TestPipelineNothingBehindTunnel(t *testing.T) {
	for _, method := range []string{"CONNECT", "GET"} {
		var mu sync.Mutex
		var behind string
		s := scripted(t, func(p *scriptConn, _ int) {
			req := p.request()
			if req == nil {
				return
			}
			switch {
			case req.Header.IsConnect():
				p.write("HTTP/1.1 200 OK\r\n\r\n")
			case len(req.Header.Peek("Upgrade")) > 0:
				p.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\n")
			default:
				p.write(okAnswer("plain"))
				return
			}
			line, _ := p.br.ReadString('\n')
			mu.Lock()
			behind += line
			mu.Unlock()
		})
		c := &PipelineClient{Addr: s.addr(), MaxBatchDelay: 20 * time.Millisecond, Logger: discardLog{}}
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				var req Request
				var resp Response
				req.SetRequestURI(s.url())
				if i == 0 {
					if req.Header.SetMethod(method); method == "GET" {
						req.Header.Set("Connection", "upgrade")
						req.Header.Set("Upgrade", "a")
					} else {
						req.Header.SetRequestURI("a.example:443")
						req.Header.SetHost("a.example:443")
					}
				}
				_ = c.DoTimeout(&req, &resp, 10*time.Second)
			})
		}
		wg.Wait()
		mu.Lock()
		if strings.Contains(behind, "HTTP/1.1") {
			t.Errorf("%s: %q was sent behind it", method, behind)
		}
		mu.Unlock()
	}
}

// An unrequested response that arrives together with a requested one ends the connection
// before it can become the response to the next request.
func TestPipelineSurplus(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	c := &PipelineClient{Addr: "a:80"}
	c.once.Do(c.begin)
	l := &c.lanes[0]
	p := newPipeConn(l, newClientConn(client, "a:80"))
	defer p.timer.Stop()
	pc := acquirePipeCall()
	var req Request
	req.SetRequestURI("http://a/")
	if err := pc.encode(t.Context(), &req, 0); err != nil {
		t.Fatal(err)
	}
	l.running = true // the lane has no goroutine: the test does its work
	l.push(pc, true)
	l.mu.Lock()
	p.fillBatch()
	l.mu.Unlock()
	p.wrote(len(pc.bytes.B), nil)
	go func() {
		w := bufio.NewWriter(server)
		_, _ = w.WriteString(okAnswer("good") + okAnswer("evil"))
		_ = w.Flush()
	}()
	if err := p.cc.conn.Fill(); err != nil {
		t.Fatal(err)
	}
	p.begin()
	if p.finish(p.answer(p.reading)) || p.err != errPipeUnasked {
		t.Errorf("a surplus response is left for whoever comes next: %v", p.err)
	}
	if <-pc.done; pc.err != nil || string(pc.resp.Body()) != "good" {
		t.Errorf("the response that was asked for: %q, %v", pc.resp.Body(), pc.err)
	}
}
