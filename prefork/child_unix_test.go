//go:build unix

package prefork_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

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

// A child that replaces another one doesn't make the listener of the others blocking: a call of
// Accept that waits in the system can't be interrupted.
func TestSharedListenerStaysNonblocking(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		p := &prefork.Prefork{Reuseport: reuse, Logger: discard{}, CommandProducer: func(files []*os.File) (*exec.Cmd, error) {
			fd := files[0].Fd() // as os/exec does with ExtraFiles
			listens, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
			if err != nil || (listens == 1) == reuse {
				t.Errorf("reuseport %v: the socket listens: %d, %v", reuse, listens, err)
			}
			if flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0); !reuse && (err != nil || flags&unix.O_NONBLOCK == 0) {
				t.Errorf("the listener is blocking: flags %#x, %v", flags, err)
			}
			if flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("reuseport %v: other programs inherit it: flags %#x, %v", reuse, flags, err)
			}
			return nil, errHook
		}}
		if err := p.ListenAndServe("127.0.0.1:0"); !errors.Is(err, errHook) {
			t.Errorf("reuseport %v: %v", reuse, err)
		}
	}
}

// A child whose master died before the child could look learns of it, too.
func TestMasterDeathBeforeStart(t *testing.T) {
	gone := exec.Command("/bin/sh", "-c", "exit")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FASTHTTP_PREFORK_CHILD", "1")
	t.Setenv("GALE_PREFORK_MASTER", strconv.Itoa(gone.Process.Pid))
	start(t, "death", "reuseport").expect("orphan")
}
