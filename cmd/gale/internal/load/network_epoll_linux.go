package load

import (
	"io"
	"net/netip"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/galehttp/gale/internal/bytesconv"
)

const (
	maxEvents = 256
	// spin is the end of a wait in which epoll is asked in turns instead of slept in, since
	// a thread wakes up so late.
	spin = 20 * time.Microsecond
	// wakeSlot is the slot of the eventfd.
	wakeSlot = -1
)

// epoll is the network of Linux: non-blocking sockets in an epoll, edge-triggered. Calls
// that can't block are raw: they don't tell the scheduler.
type epoll struct {
	fd     int
	bell   int // eventfd
	fds    []int32
	raw    []unix.EpollEvent
	events []event
	vector [4]uintptr
	limit  []int64 // a timespec
	sleep  bool    // epoll_pwait2 exists
}

func newNetwork(conns int) (network, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	bell, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	p := &epoll{
		fd: fd, bell: bell, fds: make([]int32, conns), sleep: true,
		raw: make([]unix.EpollEvent, maxEvents), events: make([]event, maxEvents), limit: make([]int64, 2),
	}
	for i := range p.fds {
		p.fds[i] = -1
	}
	err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, bell, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: wakeSlot})
	if err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

func (p *epoll) open(slot int32, gen uint32, to *endpoint, from netip.Addr) error {
	family := unix.AF_INET
	switch {
	case to.network == "unix":
		family = unix.AF_UNIX
	case to.addr.Addr().Is6():
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := prepare(fd, family, from); err != nil {
		unix.Close(fd)
		return err
	}
	if err = unix.Connect(fd, sockaddr(to, family)); err != nil && err != unix.EINPROGRESS {
		unix.Close(fd)
		if err == unix.EAGAIN && family == unix.AF_UNIX {
			return errAgain
		}
		return err
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: slot, Pad: int32(gen)}
	if err := unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		unix.Close(fd)
		return err
	}
	p.fds[slot] = int32(fd)
	return nil
}

// prepare sets the options of a socket that will be connected.
func prepare(fd, family int, from netip.Addr) error {
	if family == unix.AF_UNIX {
		return nil
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if !from.IsValid() {
		return nil
	}
	// The port is chosen by connect, which knows the whole pair of addresses. So the same
	// port can serve several of them.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	if family == unix.AF_INET {
		return unix.Bind(fd, &unix.SockaddrInet4{Addr: from.As4()})
	}
	return unix.Bind(fd, &unix.SockaddrInet6{Addr: from.As16(), ZoneId: zoneID(from.Zone())})
}

func sockaddr(to *endpoint, family int) unix.Sockaddr {
	switch family {
	case unix.AF_UNIX:
		return &unix.SockaddrUnix{Name: to.path}
	case unix.AF_INET:
		return &unix.SockaddrInet4{Port: int(to.addr.Port()), Addr: to.addr.Addr().As4()}
	}
	a := &unix.SockaddrInet6{Port: int(to.addr.Port()), Addr: to.addr.Addr().As16()}
	a.ZoneId = zoneID(to.addr.Addr().Zone())
	return a
}

func (p *epoll) connected(slot int32) error {
	n, err := unix.GetsockoptInt(int(p.fds[slot]), unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && n != 0 {
		err = syscall.Errno(n)
	}
	return err
}

func (p *epoll) read(slot int32, b []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(p.fds[slot]), bytesconv.Address(b), uintptr(len(b)))
		runtime.KeepAlive(b)
		switch errno {
		case 0:
			if n == 0 {
				return 0, io.EOF
			}
			return int(n), nil
		case syscall.EAGAIN:
			return 0, errAgain
		case syscall.EINTR:
			continue
		}
		return 0, errno
	}
}

func (p *epoll) write(slot int32, a, b []byte) (int, error) {
	for {
		n, errno := p.writeOnce(uintptr(p.fds[slot]), a, b)
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EAGAIN:
			return 0, nil
		case syscall.EINTR:
			continue
		}
		return 0, errno
	}
}

func (p *epoll) writeOnce(fd uintptr, a, b []byte) (uintptr, syscall.Errno) {
	if len(a) == 0 {
		a, b = b, nil
	}
	if len(b) == 0 {
		n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, fd, bytesconv.Address(a), uintptr(len(a)))
		runtime.KeepAlive(a)
		return n, errno
	}
	v := p.vector[:]
	v[0], v[1], v[2], v[3] = bytesconv.Address(a), uintptr(len(a)), bytesconv.Address(b), uintptr(len(b))
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITEV, fd, bytesconv.Address(v), 2)
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	return n, errno
}

func (p *epoll) close(slot int32, reset bool) {
	fd := int(p.fds[slot])
	if fd < 0 {
		return
	}
	if reset {
		_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(fd), 0, 0)
	p.fds[slot] = -1
}

func (p *epoll) wait(d time.Duration) []event {
	n := 0
	if d > spin {
		n = p.block(d - spin)
		if n == 0 {
			return nil // the caller comes back for the rest
		}
	} else {
		n = p.look()
		if n == 0 && d > 0 {
			n = p.spin(d)
		}
	}
	out := p.events[:0]
	for _, e := range p.raw[:n] {
		if e.Fd == wakeSlot {
			var b [8]byte
			_, _ = unix.Read(p.bell, b[:])
			continue
		}
		ended := e.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
		out = append(out, event{e.Fd, uint32(e.Pad), ended || e.Events&unix.EPOLLIN != 0, ended})
	}
	return out
}

// spin asks for events until there are some, or until d has passed.
func (p *epoll) spin(d time.Duration) int {
	for from := time.Now(); time.Since(from) < d; {
		if n := p.look(); n > 0 {
			return n
		}
	}
	return 0
}

// look returns the events that there are.
func (p *epoll) look() int {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(p.fd), bytesconv.Address(p.raw), uintptr(len(p.raw)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// block waits for events, for d at most. The call is raw although it blocks: otherwise the
// loop gives up its processor before each wait and has to get one after it, which takes two
// more system calls. Run adds processors, so that other goroutines don't lack this one.
// When the scheduler wants to stop the thread, its signal ends the wait.
func (p *epoll) block(d time.Duration) int {
	if p.sleep {
		p.limit[0], p.limit[1] = int64(d/time.Second), int64(d%time.Second)
		n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), bytesconv.Address(p.raw), uintptr(len(p.raw)),
			bytesconv.Address(p.limit), 0, 0)
		runtime.KeepAlive(p)
		switch errno {
		case 0:
			return int(n)
		case syscall.ENOSYS, syscall.EPERM: // before Linux 5.11, or filtered
			p.sleep = false
		default:
			return 0
		}
	}
	n, err := unix.EpollWait(p.fd, p.raw, int(d/time.Millisecond))
	if err != nil {
		return 0
	}
	if n == 0 && d < time.Millisecond {
		return p.spin(d)
	}
	return n
}

func (p *epoll) wake() {
	_, _ = unix.Write(p.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

func (p *epoll) end() {
	for slot := range p.fds {
		p.close(int32(slot), true)
	}
	unix.Close(p.bell)
	unix.Close(p.fd)
}

// pauseThread sleeps exactly.
func pauseThread(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil)
}

// enterThread makes waits of the thread as exact as the kernel can.
func enterThread() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}
