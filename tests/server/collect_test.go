package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Long bodies that are collected use the same memory again and again: those of known
// length, those of chunks, and bodies that break off or are refused.
func TestCollectedBodiesUseMemoryAgain(t *testing.T) {
	if race.Enabled {
		t.Skip("pools drop objects at random")
	}
	const size, rounds = 8 << 20, 4
	text := strings.Repeat("0123456789abcdef", size/16)
	length := fmt.Sprint(size)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		closed := make(chan struct{}, 100)
		ts := harness.Start(t, &gale.Server{
			Engine: e, MaxRequestBodySize: size,
			Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString(fmt.Sprint(len(ctx.PostBody()))) },
			ConnState: func(_ net.Conn, state gale.ConnState) {
				if state == gale.StateClosed {
					closed <- struct{}{}
				}
			},
		}, nil)
		send := func(request string, want int, body string) func() {
			bytes := []byte(request)
			return func() {
				c := ts.Dial()
				go c.Write(bytes)
				c.Want("POST", want, body)
				c.Close()
				<-closed
			}
		}
		reset := func(request string) func() {
			bytes := []byte(request)
			return func() {
				c := ts.Dial()
				if _, err := c.Write(bytes); err != nil {
					t.Error(err)
				}
				_ = c.Conn.(*net.TCPConn).SetLinger(0)
				c.Close()
				<-closed
			}
		}
		for _, tt := range []struct {
			name string
			send func()
		}{
			{"known length", send(peers.Post("/", text), 200, length)},
			{"one chunk", send(chunkedPost(text, size), 200, length)},
			{"chunks", send(chunkedPost(text, 30_000), 200, length)},
			{"known length, reset", reset(peers.Post("/", text)[:size-1000])},
			{"chunks, reset", reset(chunkedPost(text, 30_000)[:size-1000])},
			{"chunks, too long", send(chunkedPost(text+"more", 30_000), 413, "Too big request body")},
		} {
			for range 2 {
				tt.send()
			}
			got := peers.Allocated(func() {
				for range rounds {
					tt.send()
				}
			})
			if most := rounds * size / 10; got > most {
				t.Errorf("%s: %d bodies of %d bytes allocated %d bytes, want at most %d", tt.name, rounds, size, got, most)
			}
		}
	})
}

// So do those of HTTP/2, with and without an announced length.
func TestCollectedH2BodiesUseMemoryAgain(t *testing.T) {
	if race.Enabled {
		t.Skip("pools drop objects at random")
	}
	const size, rounds = 8 << 20, 4
	text := strings.Repeat("0123456789abcdef", size/16)
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		s := &gale.Server{Engine: e, MaxRequestBodySize: size, HTTP2: gale.HTTP2Config{H2C: true}}
		ts := harness.Start(t, s, func(ctx *gale.RequestCtx) { ctx.SetBodyString(fmt.Sprint(len(ctx.PostBody()))) })
		tr := &http.Transport{Protocols: peers.Protocols(2)}
		defer tr.CloseIdleConnections()
		for _, length := range []int64{size, -1} {
			send := func() {
				req, err := http.NewRequest("POST", "http://"+ts.Addr, io.NopCloser(strings.NewReader(text)))
				if err != nil {
					t.Fatal(err)
				}
				req.ContentLength = length
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if b, err := io.ReadAll(resp.Body); string(b) != fmt.Sprint(size) || resp.ProtoMajor != 2 || err != nil {
					t.Errorf("got %q, %v over HTTP/%d", b, err, resp.ProtoMajor)
				}
			}
			for range 2 {
				send()
			}
			got := peers.Allocated(func() {
				for range rounds {
					send()
				}
			})
			if most := rounds * size / 5; got > most { // the client allocates too
				t.Errorf("length %d: %d bodies of %d bytes allocated %d bytes, want at most %d", length, rounds, size, got, most)
			}
		}
	})
}

// chunkedPost returns a request whose body has chunks of size bytes.
func chunkedPost(body string, size int) string {
	return "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + peers.Chunks(body, size)
}

// No request sees bytes of another one in a long body, although these bodies use the same
// memory, and some break off anywhere.
func TestLongBodiesAreNotForeign(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e, MaxRequestBodySize: 4 << 20}, func(ctx *gale.RequestCtx) {
			user, body := ctx.Request.Header.Peek("User"), ctx.PostBody()
			if bytes.Count(body, user) != len(body) {
				gate.Unforgiven(t, "the body of %s has foreign bytes", user)
			}
			ctx.SetBody(body)
		})
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				u := &longUser{rng: rand.New(rand.NewPCG(uint64(i), 1)), name: string(rune('a' + i)), addr: ts.Addr}
				u.text = strings.Repeat(u.name, 3<<20)
				for range race.Fewer(gate.Form(60, 11)) {
					if err := u.send(); err != nil {
						t.Errorf("%s: %v", u.name, err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

// longUser sends long bodies that consist of its name, a letter.
type longUser struct {
	rng        *rand.Rand
	name, addr string
	text       string
}

// send sends a request over a new connection, or a part of it, and checks the answer.
func (u *longUser) send() error {
	nc, err := net.Dial("tcp", u.addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(3 * time.Minute)) // which only ends a test that hangs
	body := u.text[:u.rng.IntN(len(u.text))]
	request := peers.Post("/", body)
	if u.rng.IntN(2) == 0 {
		request = chunkedPost(body, 1+u.rng.IntN(1<<20))
	}
	request = strings.Replace(request, "\r\n", "\r\nUser: "+u.name+"\r\n", 1)
	if u.rng.IntN(3) == 0 {
		if u.rng.IntN(2) == 0 {
			_ = nc.(*net.TCPConn).SetLinger(0)
		}
		_, err := io.WriteString(nc, request[:u.rng.IntN(len(request))])
		return err
	}
	go io.WriteString(nc, request) // a missing answer shows the error
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if string(got) != body {
		return errors.New("the answer has other bytes")
	}
	return nil
}
