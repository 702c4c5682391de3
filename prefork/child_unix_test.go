//go:build unix

package prefork_test

import (
	"net"
	"runtime"
	"syscall"
	"testing"

	"github.com/galehttp/gale/prefork"
)

// A child to which nothing was handed down listens on a port of its own, and leaves
// alone what its descriptors are in fact.
func TestChildWithoutPort(t *testing.T) {
	t.Setenv("FASTHTTP_PREFORK_CHILD", "1")
	var stat, again syscall.Stat_t
	before := syscall.Fstat(3, &stat)
	listening := false
	p := &prefork.Prefork{Reuseport: true, Logger: discard{}, ServeFunc: func(ln net.Listener) error {
		listening = ln.Addr().(*net.TCPAddr).Port != 0
		return ln.Close()
	}}
	for _, addr := range []string{"127.0.0.1:0", "127.0.0.1:"} {
		listening = false
		if err := p.ListenAndServe(addr); err != nil || !listening {
			t.Errorf("%s: listening is %v, %v", addr, listening, err)
		}
	}
	runtime.GC() // finalizers close files
	runtime.GC()
	if after := syscall.Fstat(3, &again); (before == nil) != (after == nil) || stat.Ino != again.Ino {
		t.Errorf("descriptor 3 was %v, inode %d, and is %v, inode %d", before, stat.Ino, after, again.Ino)
	}
}
