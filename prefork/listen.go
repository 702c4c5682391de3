package prefork

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"

	"github.com/galehttp/gale/internal/sockopt"
	"github.com/galehttp/gale/reuseport"
)

// handedDown is the descriptor of the listener in a child: the first one after the
// standard ones, where os/exec puts ExtraFiles.
const handedDown = 3

// listen returns the files for the children. That is the listener. With Reuseport it is
// nothing or, if the port is 0, a socket that reserves a port and doesn't listen.
func (p *Prefork) listen(addr string) ([]*os.File, error) {
	network := p.network(addr)
	tcpAddr, err := net.ResolveTCPAddr(network, addr)
	if err != nil {
		return nil, fmt.Errorf("prefork: resolve %s/%s: %w", network, addr, err)
	}
	if p.Reuseport {
		if tcpAddr.Port != 0 {
			return nil, nil
		}
		f, err := sockopt.Hold(network, tcpAddr)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, fmt.Errorf("prefork: port 0 can't be shared on this system: choose a port: %w", err)
		}
		if err != nil {
			return nil, fmt.Errorf("prefork: choose a port for %s: %w", addr, err)
		}
		return []*os.File{f}, nil
	}
	if runtime.GOOS == "windows" {
		return nil, ErrOnlyReuseportOnWindows
	}
	ln, err := net.ListenTCP(network, tcpAddr)
	if err != nil {
		return nil, fmt.Errorf("prefork: listen %s: %w", addr, err)
	}
	defer ln.Close() // the file keeps the socket open
	f, err := sockopt.Share(ln)
	if err != nil {
		return nil, fmt.Errorf("prefork: pass the listener to children: %w", err)
	}
	return []*os.File{f}, nil
}

// childListener returns the listener of a child.
func (p *Prefork) childListener(addr string) (net.Listener, error) {
	if p.Reuseport {
		return p.reuseportListener(addr)
	}
	if runtime.GOOS == "windows" {
		return nil, ErrOnlyReuseportOnWindows
	}
	f := os.NewFile(handedDown, "listener")
	if f == nil {
		return nil, errors.New("prefork: the master passed no listener")
	}
	defer f.Close()
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("prefork: descriptor %d is not a listener: a CommandProducer must pass its files as ExtraFiles: %w", handedDown, err)
	}
	return ln, nil
}

// reuseportListener returns a child's own listener. If the port in addr is 0, it is the
// port that the master has reserved.
func (p *Prefork) reuseportListener(addr string) (net.Listener, error) {
	if host, port, err := net.SplitHostPort(addr); err == nil && (port == "" || port == "0") {
		if held, ok := sockopt.HeldPort(handedDown); ok {
			addr = net.JoinHostPort(host, strconv.Itoa(held))
		} else {
			p.logf("prefork: the master passed no port, because a CommandProducer doesn't pass its files as ExtraFiles: this child listens on its own port")
		}
	}
	return reuseport.Listen(p.network(addr), addr)
}
