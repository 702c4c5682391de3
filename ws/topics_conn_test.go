package ws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
)

// connTopics serves Conns that subscribe to the topic of their path, and publish there what
// they get. ended gets what ended them.
func connTopics(t *testing.T, engine gale.Engine, topics *Topics, o *Options, ended chan<- error) (url string, stop func()) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &gale.Server{Engine: engine, Handler: func(ctx *gale.RequestCtx) {
		topic := string(ctx.Path())
		err := Accept(ctx, func(c *Conn) {
			if err := topics.Subscribe(c, topic); err != nil {
				t.Error(err)
			}
			for {
				mt, data, err := c.Read(context.Background())
				if err != nil {
					if e := topics.Subscribe(c, topic); !errors.Is(e, ErrClosed) {
						t.Errorf("Subscribe at the end: %v", e)
					}
					ended <- err
					return
				}
				if err := topics.Publish(topic, mt, data); err != nil {
					t.Error(err)
				}
			}
		}, o)
		if err != nil {
			t.Error(err)
		}
	}}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ln) }()
	return "ws://" + ln.Addr().String(), func() {
		if err := server.Shutdown(); err != nil {
			t.Error(err)
		}
		ln.Close() // Serve may not have begun yet, and would begin after Shutdown
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Conns are members, those of servers and those of clients, whose frames are masked. Some
// are compressed, some keep their window.
func TestTopicsConns(t *testing.T) {
	for _, engine := range []gale.Engine{gale.EngineEvent, gale.EngineBlock} {
		t.Run(fmt.Sprint("engine ", engine), func(t *testing.T) {
			var topics, relay Topics
			o := &Options{Compression: &Compression{Threshold: 100, SendTakeover: true, ReceiveTakeover: true}}
			ended := make(chan error, 10)
			url, stop := connTopics(t, engine, &topics, o, ended)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			var clients []*Conn
			for i, z := range []*Compression{nil, {Threshold: 100}, {Threshold: 100, SendTakeover: true, ReceiveTakeover: true}, nil} {
				c, _, err := Dial(ctx, url+"/x", &DialOptions{Compression: z})
				if err != nil {
					t.Fatal(err)
				}
				defer c.CloseNow()
				if c.Compressed() != (z != nil) {
					t.Errorf("client %d is compressed: %v", i, c.Compressed())
				}
				clients = append(clients, c)
				if i < 3 {
					subscribe(t, &relay, c, "out")
				}
			}
			await.Until(t, "all have subscribed", func() bool { return topics.Members("/x") == len(clients) })

			// Each of three clients sends it to the server, which sends it to all.
			for _, text := range []string{"short", strings.Repeat("long ", 1000), ""} {
				if n, err := relay.Deliver("out", Text, []byte(text)); n != 3 || err != nil {
					t.Fatalf("delivered to %d, %v", n, err)
				}
				for i, c := range clients {
					for range 3 {
						if mt, data, err := c.Read(ctx); err != nil || mt != Text || string(data) != text {
							t.Fatalf("client %d: %v of %d bytes, %v; want %d bytes", i, mt, len(data), err, len(text))
						}
					}
				}
			}

			// A Conn that ends leaves, on both sides.
			for _, c := range clients[:2] {
				if err := c.Close(StatusNormal, ""); err != nil {
					t.Error(err)
				}
				<-ended
			}
			_ = clients[2].CloseNow()
			<-ended
			if n := relay.held(); n != 0 {
				t.Errorf("%d topics are kept by clients that have ended", n)
			}
			if n := topics.Members("/x"); n != 1 {
				t.Errorf("%d members, want 1", n)
			}
			_ = clients[3].CloseNow()
			<-ended
			stop()
			if n := topics.held(); n != 0 {
				t.Errorf("%d topics are kept", n)
			}
		})
	}
}

// A Conn that isn't read by the peer doesn't hold up a publisher, and ends or loses
// messages.
func TestTopicsConnStalled(t *testing.T) {
	for _, policy := range []QueuePolicy{QueueClose, QueueDrop} {
		for _, engine := range []gale.Engine{gale.EngineEvent, gale.EngineBlock} {
			t.Run(fmt.Sprint("policy ", policy, ", engine ", engine), func(t *testing.T) {
				var topics Topics
				o := &Options{QueuePolicy: policy, MaxQueue: 256 << 10, CloseTimeout: 100 * time.Millisecond}
				ended := make(chan error, 10)
				url, stop := connTopics(t, engine, &topics, o, ended)
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				stalled, _, err := Dial(ctx, url+"/x", &DialOptions{IdleTimeout: -1})
				if err != nil {
					t.Fatal(err)
				}
				defer stalled.CloseNow()
				reading, _, err := Dial(ctx, url+"/x", nil)
				if err != nil {
					t.Fatal(err)
				}
				defer reading.CloseNow()
				await.Until(t, "both have subscribed", func() bool { return topics.Members("/x") == 2 })
				filler := strings.Repeat("x", 64<<10)
				sent := 0
				for ; o.Stats().QueueClosed+o.Stats().Dropped == 0; sent++ {
					text := strconv.Itoa(sent) + filler
					publish(t, &topics, "/x", text)
					if _, data, err := reading.Read(ctx); err != nil || string(data) != text {
						t.Fatalf("message %d: %d bytes, %v", sent, len(data), err)
					}
				}
				if policy == QueueClose {
					<-ended
					if n := topics.Members("/x"); n != 1 {
						t.Errorf("%d members, want 1", n)
					}
				} else {
					for i := range sent - 1 {
						if _, data, err := stalled.Read(ctx); err != nil || string(data) != strconv.Itoa(i)+filler {
							t.Fatalf("message %d: %d bytes, %v", i, len(data), err)
						}
					}
				}
				publish(t, &topics, "/x", "last")
				if _, data, err := reading.Read(ctx); err != nil || string(data) != "last" {
					t.Errorf("%d bytes, %v", len(data), err)
				}
				stalled.CloseNow()
				reading.CloseNow()
				stop()
			})
		}
	}
}
