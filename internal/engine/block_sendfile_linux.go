package engine

import (
	"io"
	"os"
	"syscall"
)

// maxSendfile is the most that one system call may send.
const maxSendfile = 1 << 30

// sendFile sends f with sendfile(2) where the connection is a socket.
func (c *blockConn) sendFile(f *File) error {
	if c.raw == nil {
		return c.copyFile(f)
	}
	in, err := f.F.SyscallConn()
	if err != nil {
		return c.copyFile(f)
	}
	if err := c.bounds.begin(); err != nil {
		return err
	}
	var sendErr error
	unsupported, moved := false, false
	err = in.Control(func(src uintptr) {
		werr := c.raw.Write(func(dst uintptr) bool {
			for f.N > 0 {
				n, err := syscall.Sendfile(int(dst), int(src), &f.Off, int(min(f.N, maxSendfile)))
				if n > 0 {
					f.N -= int64(n)
					moved = true
					continue
				}
				switch err {
				case nil:
					sendErr = io.ErrUnexpectedEOF // the file has become shorter
					return true
				case syscall.EINTR:
					continue
				case syscall.EAGAIN:
					c.putAside()
					c.bounds.wait(moved, true)
					moved = false
					return false
				case syscall.EINVAL, syscall.ENOSYS, syscall.EOPNOTSUPP:
					unsupported = true
					return true
				}
				sendErr = os.NewSyscallError("sendfile", err)
				return true
			}
			return true
		})
		if sendErr == nil {
			sendErr = werr
		}
		sendErr = c.bounds.through(sendErr)
	})
	if err != nil {
		return err
	}
	if unsupported && sendErr == nil {
		return c.copyFile(f)
	}
	if sendErr != nil && sendErr != io.ErrUnexpectedEOF {
		return c.failed(sendErr)
	}
	return sendErr
}
