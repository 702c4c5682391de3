package engine

import (
	"net"
	"testing"
	"time"
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
