package prefork

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"github.com/galehttp/gale/reuseport"
)

// handedDown is the descriptor of the listener in a child: the first one behind
// the standard ones, where os/exec puts ExtraFiles.
const handedDown = 3

// listen returns what children get: the listener as a file, or nothing if they
// open their own.
func (p *Prefork) listen(addr string) ([]*os.File, error) {
	network := p.network()
	tcpAddr, err := net.ResolveTCPAddr(network, addr)
	if err != nil {
		return nil, fmt.Errorf("prefork: resolve %s/%s: %w", network, addr, err)
	}
	if p.Reuseport {
		if tcpAddr.Port == 0 {
			return nil, errors.New("prefork: port 0 would give each child another port: choose a port, or don't set Reuseport")
		}
		return nil, nil
	}
	if runtime.GOOS == "windows" {
		return nil, ErrOnlyReuseportOnWindows
	}
	ln, err := net.ListenTCP(network, tcpAddr)
	if err != nil {
		return nil, fmt.Errorf("prefork: listen %s: %w", addr, err)
	}
	defer ln.Close() // the file keeps the socket open
	f, err := ln.File()
	if err != nil {
		return nil, fmt.Errorf("prefork: hand down the listener: %w", err)
	}
	return []*os.File{f}, nil
}

// childListener returns the listener of a child.
func (p *Prefork) childListener(addr string) (net.Listener, error) {
	if p.Reuseport {
		return reuseport.Listen(p.network(), addr)
	}
	if runtime.GOOS == "windows" {
		return nil, ErrOnlyReuseportOnWindows
	}
	f := os.NewFile(handedDown, "listener")
	if f == nil {
		return nil, errors.New("prefork: the master handed down no listener")
	}
	defer f.Close()
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("prefork: descriptor %d is no listener: a CommandProducer must pass its files as ExtraFiles: %w", handedDown, err)
	}
	return ln, nil
}
