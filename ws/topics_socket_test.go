package ws

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
)

// subscriber is a Handler that subscribes to the topic of its path, and publishes there
// what it gets.
type subscriber struct {
	Base
	topics *Topics
	topic  string
	ended  chan error // what OnClose got, if the topic had not the Socket any more
}

func (h *subscriber) OnOpen(s *Socket) {
	if err := h.topics.Subscribe(s, h.topic); err != nil {
		s.Close(StatusInternalError, err.Error())
	}
}

func (h *subscriber) OnMessage(s *Socket, t MessageType, data []byte) {
	if err := h.topics.Publish(h.topic, t, data); err != nil {
		s.Close(StatusInternalError, err.Error())
	}
}

func (h *subscriber) OnClose(s *Socket, err error) {
	if e := h.topics.Subscribe(s, h.topic); !errors.Is(e, ErrClosed) {
		err = fmt.Errorf("Subscribe in OnClose: %v", e)
	}
	h.ended <- err
}

// topicServer serves subscribers.
type topicServer struct {
	t      *testing.T
	addr   string
	topics Topics
	ended  chan error
	conns  []net.Conn // of all clients
}

// onBothEngines runs a test with a server on each engine.
func onBothEngines(t *testing.T, options func() *Options, test func(t *testing.T, s *topicServer, o *Options)) {
	for _, engine := range []gale.Engine{gale.EngineEvent, gale.EngineBlock} {
		t.Run(fmt.Sprint("engine ", engine), func(t *testing.T) {
			o := options()
			ln, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s := &topicServer{t: t, addr: ln.Addr().String(), ended: make(chan error, 100)}
			server := &gale.Server{Engine: engine, Handler: func(ctx *gale.RequestCtx) {
				h := &subscriber{topics: &s.topics, topic: string(ctx.Path()), ended: s.ended}
				if err := Serve(ctx, h, o); err != nil {
					t.Error(err)
				}
			}}
			done := make(chan error, 1)
			go func() { done <- server.Serve(ln) }()
			defer func() {
				for _, c := range s.conns {
					c.Close()
				}
			}()
			test(t, s, o)
			for _, c := range s.conns {
				c.Close()
			}
			if err := server.Shutdown(); err != nil {
				t.Error(err)
			}
			ln.Close() // Serve may not have begun yet, and would begin after Shutdown
			if err := <-done; err != nil {
				t.Error(err)
			}
			if n := s.topics.held(); n != 0 {
				t.Errorf("%d topics are kept after the end of the server", n)
			}
		})
	}
}

// topicClient is the client's end of a WebSocket, without any help.
type topicClient struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

// dial opens a WebSocket that subscribes to a topic, and waits until it has. offer is what
// it offers of permessage-deflate, or "".
func (s *topicServer) dial(topic, offer string) *topicClient {
	s.t.Helper()
	before := s.topics.Members(topic)
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.conns = append(s.conns, c)
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	if offer != "" {
		offer = "Sec-WebSocket-Extensions: " + offer + "\r\n"
	}
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n", topic, offer)
	r := bufio.NewReader(c)
	for line, first := "", true; line != "\r\n"; first = false {
		if line, err = r.ReadString('\n'); err != nil || first && !strings.HasPrefix(line, "HTTP/1.1 101 ") {
			s.t.Fatalf("the answer: %q, %v", line, err)
		}
	}
	await.Until(s.t, "the client has subscribed", func() bool { return s.topics.Members(topic) == before+1 })
	return &topicClient{s.t, c, r}
}

// next returns the first byte of the next frame and its payload.
func (c *topicClient) next() (first byte, payload []byte, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(c.r, head); err != nil {
		return 0, nil, err
	}
	n := int(head[1])
	if n > 125 {
		long := make([]byte, map[int]int{126: 2, 127: 8}[n])
		if _, err := io.ReadFull(c.r, long); err != nil {
			return 0, nil, err
		}
		n = int(binary.BigEndian.Uint64(append(make([]byte, 8-len(long)), long...)))
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(c.r, payload)
	return head[0], payload, err
}

// want fails unless the next frame is a message, not compressed, with this text.
func (c *topicClient) want(text string) {
	c.t.Helper()
	if first, got, err := c.next(); err != nil || first != 0x81 || string(got) != text {
		c.t.Fatalf("a frame %#x of %d bytes %.20q, %v; want %d bytes %.20q", first, len(got), got, err, len(text), text)
	}
}

// say sends a text of at most 125 bytes.
func (c *topicClient) say(text string) {
	c.t.Helper()
	frame := append([]byte{0x81, 0x80 | byte(len(text)), 0, 0, 0, 0}, text...)
	if _, err := c.c.Write(frame); err != nil {
		c.t.Fatal(err)
	}
}

func TestTopicsSockets(t *testing.T) {
	options := func() *Options { return new(Options) }
	onBothEngines(t, options, func(t *testing.T, s *topicServer, _ *Options) {
		a, b, c := s.dial("/x", ""), s.dial("/x", ""), s.dial("/y", "")
		// Each publishes to itself, too.
		for i := range 50 {
			a.say("a" + strconv.Itoa(i))
			a.say("again")
			for _, m := range []*topicClient{a, b} {
				m.want("a" + strconv.Itoa(i))
				m.want("again")
			}
		}
		c.say("c")
		c.want("c")
		publish(t, &s.topics, "/x", "all")
		a.want("all")
		b.want("all")

		// However a member ends, it leaves.
		a.c.(*net.TCPConn).SetLinger(0) // a reset
		a.c.Close()
		b.c.Write([]byte{0x88, 0x80, 0, 0, 0, 0})
		c.c.Write([]byte{0xff, 0x80, 0, 0, 0, 0}) // breaks the rules
		for range 3 {
			if err := <-s.ended; err == nil || strings.Contains(err.Error(), "Subscribe") {
				t.Error(err)
			}
		}
		if n := s.topics.held(); n != 0 {
			t.Errorf("%d topics are kept", n)
		}
	})
}

// One frame is built for all members, and one compressed form for each set of parameters.
func TestTopicsBuildOnce(t *testing.T) {
	options := func() *Options { return &Options{Compression: &Compression{Threshold: 100}} }
	onBothEngines(t, options, func(t *testing.T, s *topicServer, _ *Options) {
		spy := new(keeper)
		subscribe(t, &s.topics, spy, "/x")
		var plain, deflated, small []*topicClient
		for range 3 {
			plain = append(plain, s.dial("/x", ""))
			deflated = append(deflated, s.dial("/x", "permessage-deflate; server_no_context_takeover; client_no_context_takeover"))
			small = append(small, s.dial("/x", "permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=10"))
		}
		long := strings.Repeat("hello ", 200)
		if n, err := s.topics.Deliver("/x", Text, []byte(long)); n != 10 || err != nil {
			t.Fatalf("delivered to %d, %v", n, err)
		}
		for _, c := range plain {
			c.want(long)
		}
		for _, group := range [][]*topicClient{deflated, small} {
			var one []byte
			for _, c := range group {
				first, payload, err := c.next()
				if err != nil || first != 0xc1 || len(payload) > len(long)/4 {
					t.Fatalf("a frame %#x of %d bytes, %v; want a compressed one", first, len(payload), err)
				}
				if one == nil {
					one = payload
				}
				if !bytes.Equal(one, payload) {
					t.Error("members with the same parameters got different frames")
				}
			}
		}
		if len(spy.all) != 1 {
			t.Fatalf("%d messages were prepared, want 1", len(spy.all))
		}
		if n := spy.all[0].compressed.Load(); n != 2 {
			t.Errorf("compressed %d times, want once for each of 2 sets of parameters", n)
		}
		publish(t, &s.topics, "/x", "short")
		if n := spy.all[1].compressed.Load(); n != 0 {
			t.Errorf("a message below the threshold was compressed %d times", n)
		}
		spy.subs.end()
	})
}

// keeper is a member that keeps what was prepared.
type keeper struct {
	subs memberships
	all  []*Prepared
}

func (k *keeper) memberships() *memberships { return &k.subs }

func (k *keeper) publish(p *Prepared) error {
	k.all = append(k.all, p)
	return nil
}

// A member that reads nothing ends or loses messages, as the policy says, and is counted.
// The others get all messages in order.
func TestTopicsStalled(t *testing.T) {
	for _, policy := range []QueuePolicy{QueueClose, QueueDrop, QueueWait} {
		options := func() *Options {
			return &Options{QueuePolicy: policy, MaxQueue: 256 << 10, CloseTimeout: 100 * time.Millisecond}
		}
		onBothEngines(t, options, func(t *testing.T, s *topicServer, o *Options) {
			stalled := s.dial("/x", "")
			var reading []*topicClient
			for range 4 {
				reading = append(reading, s.dial("/x", ""))
			}
			filler := strings.Repeat("x", 64<<10)
			full := func() bool { return o.Stats().QueueClosed+o.Stats().Dropped > 0 }
			sent := 0
			for ; !full(); sent++ {
				text := strconv.Itoa(sent) + filler
				publish(t, &s.topics, "/x", text)
				for _, c := range reading {
					c.want(text)
				}
				if sent > 10_000 {
					t.Fatal("the queue is never full")
				}
			}
			stats := o.Stats()
			if policy == QueueClose {
				if stats.QueueClosed != 1 || stats.Dropped != 0 {
					t.Errorf("%d closed and %d dropped", stats.QueueClosed, stats.Dropped)
				}
				await.Until(t, "the member that stalled has left", func() bool { return s.topics.Members("/x") == len(reading) })
				<-s.ended
			} else {
				if stats.QueueClosed != 0 || stats.Dropped != 1 {
					t.Errorf("%d closed and %d dropped", stats.QueueClosed, stats.Dropped)
				}
				// When it reads again, it gets what was not dropped, and what comes later.
				for i := range sent - 1 {
					stalled.want(strconv.Itoa(i) + filler)
				}
				reading = append(reading, stalled)
			}
			publish(t, &s.topics, "/x", "last")
			for _, c := range reading {
				c.want("last")
			}
			if n := s.topics.Members("/x"); n != len(reading) {
				t.Errorf("%d members, want %d", n, len(reading))
			}
		})
	}
}
