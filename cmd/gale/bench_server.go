package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale/cmd/gale/internal/load"
	"github.com/galehttp/gale/internal/h1"
)

// Times for the server of -cmd.
const (
	startTimeout = 30 * time.Second      // until it answers
	startPause   = 20 * time.Millisecond // between two tries
	endTimeout   = 5 * time.Second       // after it was asked to end; then it is killed
)

// benchServer is the server that -cmd started.
type benchServer struct {
	cmd    *exec.Cmd
	output tail
	exited chan struct{} // closed when it has ended
}

// startServer starts the command of -cmd in a process group of its own, so that Ctrl-C
// doesn't reach it.
func startServer(command string) (*benchServer, error) {
	words, err := splitWords(command)
	if err != nil {
		return nil, usagef("--cmd: %v", err)
	}
	env := os.Environ()
	for len(words) > 0 && isAssignment(words[0]) {
		env, words = append(env, words[0]), words[1:]
	}
	if len(words) == 0 {
		return nil, usagef("--cmd names no command: write it as in --cmd './server -port 8080'")
	}
	s := &benchServer{cmd: exec.Command(words[0], words[1:]...), exited: make(chan struct{})}
	s.cmd.Env = env
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	s.cmd.WaitDelay = endTimeout // a process that it has left may hold the pipe
	ownGroup(s.cmd)
	if err := s.cmd.Start(); err != nil {
		return nil, usagef("--cmd: can't start %q: %v: check the spelling", words[0], startError(err))
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	return s, nil
}

// startError returns the reason in an error of exec.
func startError(err error) error {
	var lookup *exec.Error
	var path *os.PathError
	switch {
	case errors.As(err, &lookup):
		return lookup.Err
	case errors.As(err, &path):
		return path.Err
	}
	return err
}

// stop ends the server and the processes of its group. Without a server it does nothing.
func (s *benchServer) stop() {
	if s == nil {
		return
	}
	endGroup(s.cmd, false)
	select {
	case <-s.exited:
	case <-time.After(endTimeout):
	}
	s.kill() // what is left of it
	<-s.exited
}

// kill ends the server and the processes of its group at once.
func (s *benchServer) kill() {
	if s != nil {
		endGroup(s.cmd, true)
	}
}

// ended reports whether the server has ended.
func (s *benchServer) ended() bool {
	if s == nil {
		return false
	}
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// failed returns the error of a server that has ended. The last lines of its output are
// written to w.
func (s *benchServer) failed(w io.Writer) error {
	<-s.exited
	if text := s.output.String(); text != "" {
		fmt.Fprintf(w, "Output of the server:\n%s\n", lastLines(strings.TrimRight(text, "\n"), tailLines))
	}
	return fmt.Errorf("the server of --cmd has ended: %s", s.cmd.ProcessState)
}

// startAndReach starts the server of -cmd and waits until it answers.
func (b *bench) startAndReach(ctx context.Context, out *results) (*benchServer, error) {
	for i := range b.plan.Targets {
		t := &b.plan.Targets[i]
		if conn, err := b.connect(ctx, t); err == nil {
			_ = conn.Close()
			return nil, usagef("--cmd: a server already answers on %s: end it, or leave --cmd out", t.Address)
		}
	}
	s, err := startServer(b.cfg.cmd)
	if err != nil {
		return nil, err
	}
	if err := b.await(ctx, s, out); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// await waits until the server answers at each URL.
func (b *bench) await(ctx context.Context, s *benchServer, out *results) error {
	tried := make(chan error, 1)
	try := func() { tried <- b.reachAndAsk(ctx) }
	go try()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last error
	for begin, late := time.Now(), time.After(startTimeout); ; {
		select {
		case last = <-tried:
			if last == nil {
				return nil
			}
			time.AfterFunc(startPause, try)
		case <-s.exited:
			return s.failed(out.messages)
		case <-ctx.Done():
			return errEnded
		case <-tick.C:
			out.remind("waiting for the server of --cmd", begin)
		case <-late:
			s.stop()
			_ = s.failed(out.messages)
			if last == nil {
				last = errors.New("it takes connections and sends nothing")
			}
			return fmt.Errorf("the server of --cmd didn't answer within %s: %v", startTimeout, last)
		}
	}
}

// reachAndAsk sends a request to each URL.
func (b *bench) reachAndAsk(ctx context.Context) error {
	if err := b.reach(ctx); err != nil {
		return err
	}
	if b.plan.WebSocket {
		return nil // it has answered the handshake
	}
	for i := range b.plan.Targets {
		if err := b.ask(ctx, &b.plan.Targets[i]); err != nil {
			return err
		}
	}
	return nil
}

// preface is what an HTTP/2 client sends first: RFC 9113 section 3.4, with empty SETTINGS.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// ask waits until a server answers a request, or over HTTP/2 the preface. A listening
// server may not be ready.
func (b *bench) ask(ctx context.Context, t *load.Target) error {
	conn, err := b.connect(ctx, t)
	if err != nil {
		return err
	}
	defer conn.Close()
	return firstByte(ctx, conn, b.firstBytes(t))
}

// firstBytes returns what to send to find out whether a server answers.
func (b *bench) firstBytes(t *load.Target) []byte {
	if b.plan.HTTP2 {
		return []byte(preface)
	}
	var r load.Request
	t.Source.Fill(&r, 0)
	return append(h1.AppendRequestHead(nil, &r.Head), r.Body...)
}

// firstByte sends text and waits for a byte.
func firstByte(ctx context.Context, conn net.Conn, text []byte) error {
	_ = conn.SetDeadline(time.Now().Add(startTimeout))
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write(text); err != nil {
		return err
	}
	_, err := conn.Read(make([]byte, 1))
	return err
}

// maxTail is how many bytes of a server's output are kept, tailLines how many lines are
// printed.
const (
	maxTail   = 16 << 10
	tailLines = 20
)

// lastLines returns the last n lines of text. "..." stands for those before.
func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= n {
		return text
	}
	return "...\n" + strings.Join(lines[len(lines)-n:], "\n")
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	all []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, p...)
	if len(t.all) > 2*maxTail {
		t.all = append(t.all[:0], t.all[len(t.all)-maxTail:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.all[max(0, len(t.all)-maxTail):])
}
