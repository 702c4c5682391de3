package h2

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestTunnelMix proves that streams that end in all ways, among requests that use the same
// contexts and buffers, never see bytes of each other, and leave neither streams nor
// goroutines.
func TestTunnelMix(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		echo := func(nc net.Conn) {
			switch b := make([]byte, 1000); gate.Rand.IntN(4) {
			case 0: // ends after a while
				_, _ = io.CopyN(nc, nc, 1+gate.Rand.Int64N(5000))
			case 1: // resets
				n, _ := nc.Read(b)
				_, _ = nc.Write(b[:n])
				_ = nc.(interface{ SetLinger(int) error }).SetLinger(0)
			default:
				_, _ = io.Copy(nc, nc)
				_ = nc.(interface{ CloseWrite() error }).CloseWrite()
			}
		}
		hs := way.Start(t, &gale.Server{HTTP2: gale.HTTP2Config{WebSocket: true}, Handler: func(ctx *gale.RequestCtx) {
			if ctx.ConnectProtocol() == "" {
				ctx.Write(ctx.QueryArgs().Peek("token"))
				return
			}
			if gate.Rand.IntN(2) == 0 {
				ctx.Hijack(echo)
				return
			}
			if nc, err := ctx.HijackNow(); err == nil {
				go func() {
					defer nc.Close()
					echo(nc)
				}()
			}
		}})
		c := harness.OpenClient(hs)
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range gate.Form(30, 10) {
					token := fmt.Sprintf("<%d.%d>", w, i)
					if err := mixOne(c, token); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		c.CloseIdleConnections()
		peers.WantStreams(t, hs.S, 0)
		await.Gone(t, "goroutines", func() bool {
			all := peers.AllStacks()
			return !strings.Contains(all, "Tunnel).") && !strings.Contains(all, "serveTunnel")
		})
	})
}

// mixOne opens a stream, sends a token again and again, and ends it in some way. It returns an
// error if anything but the token comes back.
func mixOne(c *gale.HostClient, token string) error {
	nc, err := c.OpenStream(context.Background(), harness.ConnectRequest("/?token="+token), nil)
	if err != nil {
		return err
	}
	defer nc.Close()
	sent := bytes.Repeat([]byte(token), 1+gate.Rand.IntN(3000))
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		_, _ = nc.Write(sent)
		_ = nc.(interface{ CloseWrite() error }).CloseWrite()
	}()
	got := make([]byte, len(sent)+1)
	n := 0
	switch gate.Rand.IntN(3) {
	case 0:
		n, _ = io.ReadFull(nc, got)
	case 1:
		n, _ = nc.Read(got)
		_ = nc.SetDeadline(time.Now().Add(-time.Second))
	case 2:
		n, _ = nc.Read(got)
		nc.Close()
	}
	<-wrote
	if !bytes.HasPrefix(sent, got[:n]) {
		return fmt.Errorf("%s got %.60q", token, got[:n])
	}
	req, resp := harness.ConnectRequest("/?token="+token), &gale.Response{}
	req.SetConnectProtocol("")
	req.Header.SetMethod(gale.MethodGet)
	if err := c.Do(req, resp); err != nil || string(resp.Body()) != token {
		return fmt.Errorf("a request for %s got %q, %v", token, resp.Body(), err)
	}
	return nil
}
