package sockopt

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A PeerAddr is where Accept leaves the address of a peer.
type PeerAddr struct {
	raw  [unix.SizeofSockaddrAny]byte
	size uint32
}

// Accept accepts a connection from the listening socket fd, and leaves the address of its
// peer in a. The connection doesn't block, and isn't inherited by other programs. Unlike
// unix.Accept4 it makes nothing.
func Accept(fd int, a *PeerAddr) (nfd int, errno syscall.Errno) {
	a.size = uint32(len(a.raw))
	r, _, errno := unix.Syscall6(unix.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(&a.raw)),
		uintptr(unsafe.Pointer(&a.size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(r), 0
}

// IP returns the address and the port of an IP socket. ip4 says that only the first four
// bytes of ip count. zone is the number of the interface of a link-local address. ok is
// false for sockets of another family.
func (a *PeerAddr) IP() (ip [16]byte, port uint16, zone uint32, ip4, ok bool) {
	port = binary.BigEndian.Uint16(a.raw[2:])
	switch binary.NativeEndian.Uint16(a.raw[:]) {
	case unix.AF_INET:
		copy(ip[:], a.raw[4:8])
		return ip, port, 0, true, true
	case unix.AF_INET6:
		copy(ip[:], a.raw[8:24])
		return ip, port, binary.NativeEndian.Uint32(a.raw[24:]), false, true
	}
	return ip, 0, 0, false, false
}
