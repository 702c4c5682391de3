package client

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// No request follows a CONNECT or an Upgrade on its connection. If the server accepts it,
// later requests would go into the tunnel.
func TestPipelineNothingBehindTunnel(t *testing.T) {
	for _, method := range []string{"CONNECT", "GET"} {
		var mu sync.Mutex
		var behind string
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
			req := p.Request()
			if req == nil {
				return
			}
			switch {
			case req.Method == "CONNECT":
				p.Say("HTTP/1.1 200 OK\r\n\r\n")
			case req.Header.Get("Upgrade") != "":
				p.Say("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\n")
			default:
				p.Say(peers.OkAnswer("plain"))
				return
			}
			line, _ := p.Br.ReadString('\n')
			mu.Lock()
			behind += line
			mu.Unlock()
		})
		c := &gale.PipelineClient{Addr: s.Addr(), MaxBatchDelay: 20 * time.Millisecond, Logger: peers.DiscardLog{}}
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				var req gale.Request
				var resp gale.Response
				req.SetRequestURI(s.URL())
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
