package server

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Goroutines that go on reading when their request is over, or while a client gives the
// stream back, get bytes of their own request only, and the requests all of theirs.
func TestLentBodyRaces(t *testing.T) {
	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		peers.UsedAgain(t)
		var readers sync.WaitGroup
		hs := way.Start(t, &gale.Server{StreamRequestBody: true, Handler: func(ctx *gale.RequestCtx) {
			own := ctx.Path()[len("/keep/")]
			s := ctx.RequestBodyStream().(door.Lent)
			if string(ctx.Path()[:6]) != "/keep/" {
				b, err := io.ReadAll(s)
				fmt.Fprint(ctx, len(b), bytes.Count(b, []byte{own}), err)
				return
			}
			begun := make(chan bool)
			readers.Go(func() {
				b := make([]byte, 700)
				for once := sync.OnceFunc(func() { close(begun) }); ; once() {
					n, err := s.Read(b)
					if bytes.Count(b[:n], []byte{own}) != n {
						t.Errorf("a reader of %c got %q", own, b[:n])
					}
					if err != nil {
						once()
						return
					}
				}
			})
			<-begun
			if own%2 == 0 {
				s.Revoke(door.Seal{})
			}
			fmt.Fprint(ctx, "kept")
		}})
		var clients sync.WaitGroup
		for i := range 4 {
			clients.Go(func() {
				c := hs.Client(major)
				for j := range 25 {
					own := byte('a' + (i*25+j)%26)
					body := strings.Repeat(string(own), 20_000)
					resp, err := c.Post(hs.URL(fmt.Sprintf("/keep/%c", own)), "", strings.NewReader(body))
					if err == nil { // else the server ended the connection before all was sent
						_, _ = io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
					if got := peers.Upload(t, c, hs.URL(fmt.Sprintf("/read/%c", own)), strings.NewReader(body)); got != "20000 20000 <nil>" {
						t.Errorf("read %s", got)
					}
				}
			})
		}
		clients.Wait()
		readers.Wait()
	})
}
