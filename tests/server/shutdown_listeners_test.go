package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
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
		log := &peers.Log{}
		s := &gale.Server{DrainTime: drain, Logger: log, Handler: harness.Echo}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(wordlessListener{ln}) }()
		harness.Serving(t, s, 1)
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

// Close of a listener may wait for its connections, also for one that serves a request.
func TestShutdownWithPatientListener(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tt := range []struct {
		name string
		busy bool
		end  func(s *gale.Server) error
		err  error
	}{
		{"Shutdown", false, (*gale.Server).Shutdown, nil},
		{"Shutdown without time", true, func(s *gale.Server) error { return s.ShutdownWithContext(over) }, context.Canceled},
		{"Close", true, (*gale.Server).Close, nil},
	} {
		for _, drain := range []time.Duration{0, time.Nanosecond} {
			name := fmt.Sprintf("%s, DrainTime %v", tt.name, drain)
			asked, quit := make(chan struct{}), make(chan struct{})
			s := &gale.Server{DrainTime: drain, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) {
				if string(ctx.Path()) == "/busy" {
					close(asked)
					<-quit
				}
			}}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(&patientListener{Listener: ln}) }()
			c := (&peers.Server{T: t, Addr: ln.Addr().String()}).Dial()
			c.WantOpen()
			if tt.busy {
				c.Send(peers.Get("/busy"))
				<-asked
			}
			ended := make(chan error, 1)
			go func() { ended <- tt.end(s) }()
			select {
			case err := <-ended:
				if err != tt.err {
					t.Errorf("%s: %v, want %v", name, err, tt.err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s: the server waits for the listener, which waits for the server", name)
			}
			close(quit)
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
	}
}

// callingListener is a listener whose Close calls the server.
type callingListener struct {
	net.Listener
	call func()
}

func (ln callingListener) Close() error {
	err := ln.Listener.Close()
	ln.call()
	return err
}

// Close of a listener may call each method that ends the server, on its goroutine or on one that
// it waits for. Serve returns when Close of the listener has.
func TestListenerThatEndsServer(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	ends := map[string]func(s *gale.Server){
		"Close":                 func(s *gale.Server) { _ = s.Close() },
		"Shutdown":              func(s *gale.Server) { _ = s.Shutdown() },
		"Shutdown without time": func(s *gale.Server) { _ = s.ShutdownWithContext(over) },
	}
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for first, end := range ends {
			for second, call := range ends {
				for _, drain := range []time.Duration{0, time.Nanosecond} {
					for _, apart := range []bool{false, true} {
						name := fmt.Sprintf("%s, %s in Close of the listener, apart %v, DrainTime %v", first, second, apart, drain)
						s := &gale.Server{Engine: e, DrainTime: drain, Logger: &peers.Log{}, Handler: harness.Echo}
						ln, err := net.Listen("tcp", "127.0.0.1:0")
						if err != nil {
							t.Fatal(err)
						}
						var closed atomic.Bool
						served, ended := make(chan error, 1), make(chan struct{})
						go func() {
							served <- s.Serve(callingListener{ln, func() {
								defer closed.Store(true)
								if !apart {
									call(s)
									return
								}
								done := make(chan struct{})
								go func() {
									defer close(done)
									call(s)
								}()
								<-done
							}})
						}()
						idle := (&peers.Server{T: t, Addr: ln.Addr().String()}).Dial()
						idle.WantOpen()
						go func() {
							defer close(ended)
							end(s)
						}()
						for end := time.After(time.Minute); ended != nil || served != nil; {
							select {
							case <-ended:
								if ended = nil; first != "Shutdown without time" && !closed.Load() {
									t.Errorf("%s: the first call returned before the listener was closed", name)
								}
							case err := <-served:
								if served = nil; err != nil || !closed.Load() {
									t.Errorf("%s: Serve returns %v, the listener is closed: %v", name, err, closed.Load())
								}
							case <-end:
								t.Fatalf("%s: the server waits for the listener, which waits for the server", name)
							}
						}
					}
				}
			}
		}
	})
}

// A server that ends removes its own UNIX socket. If another server, its successor, has
// put a new socket in its place, it doesn't remove that.
func TestShutdownAndUNIXSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there a file that is open can't be replaced")
	}
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for _, way := range []string{"Shutdown", "drain", "Close"} {
			addr := filepath.Join(t.TempDir(), "s")
			begin := func() (*gale.Server, chan error) {
				s := &gale.Server{Engine: e, Logger: &peers.Log{}, Handler: harness.Echo}
				if way == "drain" {
					s.DrainTime = time.Nanosecond
				}
				served := make(chan error, 1)
				go func() { served <- s.ListenAndServeUNIX(addr, 0o600) }()
				harness.Serving(t, s, 1)
				return s, served
			}
			end := func(s *gale.Server, served chan error) {
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
			peers.NewConn(t, c).WantOpen()
			end(second, secondServed)
			if _, err := os.Lstat(addr); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: its own socket is left: %v", way, err)
			}
		}
	})
}
