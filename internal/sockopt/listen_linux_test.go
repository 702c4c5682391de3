package sockopt

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A UNIX socket has the mode that was asked for, whatever the umask is, and at no moment more. The
// umask stays.
func TestListenUNIX(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	stop, seen := make(chan struct{}), make(chan fs.FileMode)
	go func() {
		var all fs.FileMode
		for {
			select {
			case <-stop:
				seen <- all
				return
			default:
			}
			if fi, err := os.Lstat(path); err == nil {
				all |= fi.Mode().Perm()
			}
		}
	}()
	for _, umask := range []int{0, 0o077, 0o777} {
		old := syscall.Umask(umask)
		for range 100 {
			ln, err := ListenUNIX(path, 0o640, 0)
			if err != nil {
				t.Fatal("listening:", err)
			}
			if fi, err := os.Lstat(path); err != nil || fi.Mode() != fs.ModeSocket|0o640 {
				t.Errorf("umask %o: got %v, %v", umask, fi.Mode(), err)
			}
			c, err := net.Dial("unix", path)
			if err != nil {
				t.Error("connecting:", err)
			} else {
				c.Close()
			}
			ln.Close()
			if _, err := os.Lstat(path); !os.IsNotExist(err) {
				t.Error("the socket is left:", err)
			}
		}
		if now := syscall.Umask(old); now != umask {
			t.Errorf("the umask is %o, want %o", now, umask)
		}
	}
	close(stop)
	if all := <-seen; all&^0o640 != 0 {
		t.Errorf("the socket was open by %v, want no more than 0640", all)
	}
	if ln, err := ListenUNIX(filepath.Join(t.TempDir(), "none", "s"), 0o600, 0); err == nil {
		ln.Close()
		t.Error("there is a socket in a folder that doesn't exist")
	}
}
