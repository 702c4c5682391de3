package engine

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// script is a listener whose Accept returns the listed results: an error, or nil for a
// connection. It records when it was called.
type script struct {
	net.Listener
	results []error
	begin   time.Time
	calls   []time.Duration
}

func (s *script) Accept() (net.Conn, error) {
	s.calls = append(s.calls, time.Since(s.begin))
	err := s.results[0]
	s.results = s.results[1:]
	if err != nil {
		return nil, err
	}
	return &namedConn{}, nil
}

// asNet wraps errno like package net does.
func asNet(errno syscall.Errno) error {
	return &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", errno)}
}

// late is an error of a listener that isn't from package net.
type late struct {
	error
	temporary bool
}

func (e late) Temporary() bool { return e.temporary }
func (e late) Unwrap() error   { return e.error }

// The errors after which Accept may work again.
func TestAcceptErrorsThatPass(t *testing.T) {
	for _, k := range []struct {
		err  error
		want bool
	}{
		{asNet(syscall.EMFILE), true},
		{asNet(syscall.ENFILE), true},
		{asNet(syscall.ENOBUFS), true},
		{asNet(syscall.ENOMEM), true},
		{asNet(syscall.ECONNABORTED), true},
		{asNet(syscall.EINTR), true},
		{syscall.EMFILE, true},
		{fmt.Errorf("a listener of a program: %w", syscall.EMFILE), true},
		{late{errors.New("its own"), true}, true},
		{late{errors.New("its own"), false}, false},
		{late{net.ErrClosed, true}, false},
		{asNet(syscall.EBADF), false},
		{asNet(syscall.EINVAL), false},
		{&net.OpError{Op: "accept", Err: net.ErrClosed}, false},
		{io.EOF, false},
		{io.ErrClosedPipe, false},
	} {
		if got := passing(k.err); got != k.want {
			t.Errorf("%v: it may pass: %v, want %v", k.err, got, k.want)
		}
	}
}

// Accept pauses after each temporary error, twice as long each time, and starts with the
// short pause again after a connection. It reports only errors because a resource ran
// out.
func TestAcceptPauses(t *testing.T) {
	full, aborted, closed := asNet(syscall.EMFILE), asNet(syscall.ECONNABORTED), &net.OpError{Op: "accept", Err: net.ErrClosed}
	const ms = time.Millisecond
	for _, k := range []struct {
		name    string
		results []error
		calls   []time.Duration
		starved int
	}{
		{"closed", []error{closed}, []time.Duration{0}, 0},
		{"at once", []error{nil, nil, closed}, []time.Duration{0, 0, 0}, 0},
		{"full", []error{full, full, full, full, full, full, full, full, full, full, closed},
			[]time.Duration{0, 5 * ms, 15 * ms, 35 * ms, 75 * ms, 155 * ms, 315 * ms, 635 * ms, 1275 * ms, 2275 * ms, 3275 * ms}, 10},
		{"full and free", []error{full, full, nil, full, nil, nil, closed},
			[]time.Duration{0, 5 * ms, 15 * ms, 15 * ms, 20 * ms, 20 * ms, 20 * ms}, 3},
		{"aborted", []error{aborted, nil, aborted, aborted, closed},
			[]time.Duration{0, 5 * ms, 5 * ms, 10 * ms, 20 * ms}, 0},
	} {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ln := &script{results: slices.Clone(k.results), begin: time.Now()}
				got, starved := 0, 0
				err := Accept(ln, nil, func(nc net.Conn) { got++ }, func(err error) {
					if starved++; err != full {
						t.Errorf("told of %v", err)
					}
				})
				if err != closed {
					t.Errorf("it returned %v, want the last error", err)
				}
				if !slices.Equal(ln.calls, k.calls) {
					t.Errorf("Accept was called after %v, want %v", ln.calls, k.calls)
				}
				conns := 0
				for _, err := range k.results {
					if err == nil {
						conns++
					}
				}
				if got != conns || starved != k.starved {
					t.Errorf("%d connections, want %d; told of %d errors, want %d", got, conns, starved, k.starved)
				}
			})
		})
	}
}
