package main

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"

	"github.com/galehttp/gale/internal/sockopt"
)

// listening is an open listener.
type listening struct {
	net.Listener
	note string // a line for the banner, or ""
}

// checkListening finds flags that contradict the kind of the listener.
func (cfg *serveConfig) checkListening() error {
	if cfg.unix.path == "" {
		if cfg.unix.mode != defaultSocketMode {
			return usagef("-unix-mode needs -unix")
		}
		return nil
	}
	switch other := cfg.address.given(); {
	case other != "":
		return usagef("-unix listens on a socket file only: leave %s out", other)
	case cfg.open:
		return usagef("browsers can't open a UNIX socket: leave -open or -unix out")
	case cfg.qr == "true":
		return usagef("phones can't reach a UNIX socket: leave -qr or -unix out")
	}
	return nil
}

// listen listens where cfg says. If it can't, the error says what to do.
func (cfg *serveConfig) listen() (*listening, error) {
	if cfg.unix.path != "" {
		ln, err := cfg.unix.listen()
		if err != nil {
			return nil, err
		}
		return &listening{Listener: ln}, nil
	}
	return cfg.address.listen()
}

// listen listens on the first free port.
func (a *addressFlags) listen() (*listening, error) {
	var err error
	for i, port := range a.ports {
		var ln net.Listener
		if ln, err = listenTCP(a.host, port); err == nil {
			return &listening{ln, a.movedNote(i, ln)}, nil
		}
		if !isInUse(err) && !isDenied(err) {
			break
		}
	}
	addr := net.JoinHostPort(a.host, strconv.Itoa(a.ports[0]))
	first, last := a.ports[0], a.ports[len(a.ports)-1]
	switch {
	case first != last && isInUse(err):
		return nil, usagef("the ports from %d to %d are in use: choose another with -p", first, last)
	case isInUse(err):
		return nil, usagef("%s is in use: stop the program that listens there, or choose another port with -p", addr)
	case isDenied(err):
		return nil, usagef("no permission to listen on %s: choose another port with -p, from 1024 up", addr)
	case isNotHere(err):
		return nil, usagef("%s isn't an address of this machine: choose another with -addr", addr)
	}
	return nil, usagef("can't listen on %q: %v; write -addr as host:port, :port or port", addr, err)
}

// movedNote returns the line that says why ln doesn't have the first port: i ports were
// in use.
func (a *addressFlags) movedNote(i int, ln net.Listener) string {
	if i == 0 {
		return ""
	}
	port := ln.Addr().(*net.TCPAddr).Port
	if i == 1 {
		return fmt.Sprintf("Port %d is in use: serving on %d.", a.ports[0], port)
	}
	return fmt.Sprintf("Ports %d to %d are in use: serving on %d.", a.ports[0], a.ports[i-1], port)
}

// listenTCP listens on a port.
func listenTCP(host string, port int) (net.Listener, error) {
	// Only on Linux a port of one address is in use for all addresses, too. Elsewhere
	// another program would keep answering at localhost.
	if runtime.GOOS != "linux" && port != 0 && isWildcard(host) {
		if err := tryLoopback(port); err != nil {
			return nil, err
		}
	}
	addr := net.JoinHostPort(host, strconv.Itoa(port))
	return net.Listen(sockopt.NetworkFor("tcp", addr), addr)
}

// tryLoopback returns an error if the port is in use at a loopback address.
func tryLoopback(port int) error {
	for _, host := range []string{"127.0.0.1", "::1"} {
		ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			err = ln.Close()
		}
		if isInUse(err) {
			return err
		}
	}
	return nil
}

func isInUse(err error) bool   { return errors.Is(err, errInUse) }
func isDenied(err error) bool  { return errors.Is(err, errDenied) }
func isNotHere(err error) bool { return errors.Is(err, errNotHere) }
