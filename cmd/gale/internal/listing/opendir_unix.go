//go:build unix

package listing

import (
	"os"

	"golang.org/x/sys/unix"
)

// openFlags makes the opening of a named pipe not wait for its writer.
const openFlags = unix.O_NONBLOCK

// openDir opens the folder of root, whose path is path, to read its names and types.
//
// A file that a Root has opened looks at the size of each entry when it reads names. Of
// 100,000 files that took six times as long as their names and types (Go 1.26.8). A file
// made of a copy of its descriptor doesn't do that. Only for file systems that don't tell
// the type it looks at entries, below path. What isn't found there isn't listed.
func openDir(root *os.Root, path string) (*os.File, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	conn, err := dir.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	var dupErr error
	err = conn.Control(func(old uintptr) {
		fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	if dupErr != nil {
		return nil, os.NewSyscallError("fcntl", dupErr)
	}
	return os.NewFile(uintptr(fd), path), nil
}
