package gale

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// wordlessListener is a listener of the program: after it is closed, it fails with an
// error of its own.
type wordlessListener struct{ net.Listener }

func (ln wordlessListener) Accept() (net.Conn, error) {
	c, err := ln.Listener.Accept()
	if err != nil {
		return nil, errors.New("no more")
	}
	return c, nil
}

// Serve returns nil after a shutdown has closed its listener, whatever error the listener
// returns.
func TestServeReturnsNilAfterShutdown(t *testing.T) {
	for _, drain := range []time.Duration{0, time.Nanosecond} {
		log := &testLog{}
		s := &Server{DrainTime: drain, Logger: log, Handler: echo}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(wordlessListener{ln}) }()
		serving(t, s, 1)
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil || log.String() != "" {
			t.Errorf("DrainTime %v: Serve returns %v, and logs %q", drain, err, log)
		}
	}
}

// patientListener is a listener whose Close waits until its connections are closed.
type patientListener struct {
	net.Listener
	open sync.WaitGroup
}

func (ln *patientListener) Accept() (net.Conn, error) {
	c, err := ln.Listener.Accept()
	if err != nil {
		return nil, err
	}
	ln.open.Add(1)
	return &patientConn{Conn: c, closed: sync.OnceFunc(ln.open.Done)}, nil
}

func (ln *patientListener) Close() error {
	err := ln.Listener.Close()
	ln.open.Wait()
	return err
}

type patientConn struct {
	net.Conn
	closed func()
}

func (c *patientConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// Close of a listener may wait for its connections, or call the server.
func TestShutdownWithPatientListener(t *testing.T) {
	for _, drain := range []time.Duration{0, time.Nanosecond} {
		s := &Server{DrainTime: drain, Logger: &testLog{}, Handler: echo}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(&patientListener{Listener: ln}) }()
		idle := (&testServer{t: t, s: s, addr: ln.Addr().String()}).dial()
		idle.wantOpen()
		ended := make(chan error, 1)
		go func() { ended <- s.Shutdown() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("DrainTime %v: Shutdown waits for the listener, which waits for Shutdown", drain)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// A server that ends removes its own UNIX socket. If another server, its successor, has
// put a new socket in its place, it doesn't remove that.
func TestShutdownAndUNIXSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there a file that is open can't be replaced")
	}
	onEngines(t, func(t *testing.T, e Engine) {
		for _, way := range []string{"Shutdown", "drain", "Close"} {
			addr := filepath.Join(t.TempDir(), "s")
			begin := func() (*Server, chan error) {
				s := &Server{Engine: e, Logger: &testLog{}, Handler: echo}
				if way == "drain" {
					s.DrainTime = time.Nanosecond
				}
				served := make(chan error, 1)
				go func() { served <- s.ListenAndServeUNIX(addr, 0o600) }()
				serving(t, s, 1)
				return s, served
			}
			end := func(s *Server, served chan error) {
				switch way {
				case "Close":
					s.Close()
				default:
					if err := s.Shutdown(); err != nil {
						t.Error(err)
					}
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
			}
			first, firstServed := begin()
			second, secondServed := begin()
			end(first, firstServed)
			c, err := net.Dial("unix", addr)
			if err != nil {
				t.Fatalf("%s: the successor's socket: %v", way, err)
			}
			newTestConn(t, c).wantOpen()
			end(second, secondServed)
			if _, err := os.Lstat(addr); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: its own socket is left: %v", way, err)
			}
		}
	})
}
