package engine

import (
	"net"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// opens is a session that calls inOpen in Open.
type opens struct {
	*lines
	inOpen func()
}

func (s *opens) Open(c Conn, next *Next) {
	s.lines.Open(c, next)
	s.inOpen()
}

// EndNow ends the epoch and closes its connections, as Server.Close does.
func (e *Block) EndNow() {
	e.EndEpoch()
	e.CloseAll()
}

// EndNow is that of Block.
func (e *Event) EndNow() {
	e.epoch.end()
	e.CloseAll()
}

// BeginWake is the part of Wake that comes before it interrupts the wait.
func (k *Waker) BeginWake() { k.pending.Store(true) }

// Waits reports whether the goroutine of a connection of Block waits for bytes.
func (k *Waker) Waits() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.waits
}

// CloseAll also closes connections of epochs that have ended that are still being opened, and
// that it therefore doesn't find. Their requests aren't served.
func TestCloseAllWhileOpening(t *testing.T) {
	block := func(t *testing.T, e *Block, s Session) (client net.Conn, ended chan struct{}) {
		server, client := tcpPair(t)
		send(t, client, "early\n")
		client.SetDeadline(time.Now().Add(tooLong))
		ended = make(chan struct{})
		epoch := e.Epoch()
		go func() {
			defer close(ended)
			e.Start(server, false, epoch, s)
		}()
		return client, ended
	}
	for _, tt := range []struct {
		name  string
		start func(t *testing.T, s *opens) (client net.Conn, ended chan struct{})
	}{
		{"block", func(t *testing.T, s *opens) (net.Conn, chan struct{}) {
			e := new(Block)
			s.inOpen = func() { e.Stop(); e.CloseAll() }
			return block(t, e, s)
		}},
		{"event", func(t *testing.T, s *opens) (net.Conn, chan struct{}) {
			sent := make(chan struct{})
			_, client, ended := startEventAfter(t, s, func(e *Event) {
				<-sent
				e.Stop()
				e.CloseAll()
			})
			send(t, client, "early\n")
			close(sent)
			return client, ended
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &opens{newLines(), func() {}}
			client, ended := tt.start(t, s)
			if n, err := client.Read(make([]byte, 100)); n > 0 || IsTimeout(err) {
				t.Errorf("read %d bytes, %v; want none, and the end", n, err)
			}
			client.Close()
			<-ended
			<-s.closed
		})
	}
}

// A call of CloseAll that another one has overtaken does not take back what that has noted.
func TestKillsOnlyRise(t *testing.T) {
	var e epoch
	e.end()
	e.end()
	e.kills.Store(3) // by the other one, after the next end
	if e.kill(); !e.killed(2) {
		t.Error("the connections of the last epoch are not closed any more")
	}
	e.end()
	e.end()
	if e.kill(); !e.killed(3) || e.killed(4) {
		t.Errorf("CloseAll in epoch 4 closes those before %d", e.kills.Load())
	}
}

// slowKill is a system in which a shutdown returns when seen is closed.
type slowKill struct {
	system
	seen chan struct{}
}

func (s slowKill) shutdown(fd int32, how int) error {
	err := s.system.shutdown(fd, how)
	select {
	case <-s.seen:
	case <-time.After(tooLong): // which only ends a test that hangs
	}
	return err
}

// fills is a session that waits for more in Feed.
type fills struct {
	*lines
	fed  chan struct{}
	read chan error
}

func (s *fills) Feed(w *Work, next *Next) {
	w.Consume(len(w.Unread()))
	close(s.fed)
	s.read <- s.c.Fill(w, clock.Ticks().Add(tooLong))
	next.Op = Close
}

// A session that sees the shutdown of its socket before CloseAll has returned gets
// net.ErrClosed, not the end that the peer could have caused.
func TestCloseAllIsNoEndOfThePeer(t *testing.T) {
	seen := make(chan struct{})
	useSystem(t, func(sys system) system { return slowKill{sys, seen} })
	s := &fills{newLines(), make(chan struct{}), make(chan error, 1)}
	e, client, ended := startEventAfter(t, s, func(*Event) {})
	send(t, client, "line\n")
	<-s.fed
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		e.EndNow()
	}()
	if err := <-s.read; err != net.ErrClosed {
		t.Errorf("the session got %v, want %v", err, net.ErrClosed)
	}
	close(seen)
	<-closed
	client.Close()
	<-ended
}
