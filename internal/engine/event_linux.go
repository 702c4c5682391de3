package engine

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/internal/sockopt"
)

const haveSystem = true

// epoll is the poller of Linux. Its descriptor is registered with Go's own poller like
// any other. So a goroutine that waits for events is parked by Go: it costs less to wake
// than a thread, and holds no processor.
//
// events, into, guarded, n and try belong to the worker that polls. mu guards wakeFd,
// which is -1 once the poller is shut.
type epoll struct {
	linuxSockets
	f      *os.File
	raw    syscall.RawConn
	fd     int
	wakeFd int
	events []unix.EpollEvent

	mu      sync.Mutex
	into    []ready      // where try puts what it finds: the batch of poll, until poll returns
	guarded *atomic.Bool // the argument of poll
	n       int
	try     func(fd uintptr) bool
}

// wakeSlot is the slot in events of wakeFd. Those of listeners have listenerSlot.
const wakeSlot = 1<<31 - 1

func newSystem() (system, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	p := &epoll{fd: fd, wakeFd: -1, events: make([]unix.EpollEvent, batchSize)}
	p.ep = fd
	if err = unix.SetNonblock(fd, true); err == nil {
		p.f = os.NewFile(uintptr(fd), "epoll")
		if p.raw, err = p.f.SyscallConn(); err == nil {
			p.wakeFd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		}
	}
	if err == nil {
		err = p.add(int32(p.wakeFd), wakeSlot, 0)
	}
	if err != nil {
		p.shut()
		return nil, err
	}
	p.try = func(uintptr) bool {
		p.n = p.look(p.into, p.guarded)
		return p.n != 0
	}
	return p, nil
}

// add registers fd once for all events, edge-triggered, so that no request needs an
// epoll_ctl. 1<<31 is EPOLLET, whose constant doesn't fit an int32. slot and gen come
// back in the event's 64 bits of data.
func (p *epoll) add(fd int32, slot, gen uint32) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLPRI | 1<<31, Fd: int32(slot), Pad: int32(gen)}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, int(fd), &ev))
}

// poll looks for events. If block is true and there are none, it parks in Go's poller
// until the epoll descriptor is readable. raw.Read calls try before it parks, so that no
// event is missed.
func (p *epoll) poll(batch []ready, block bool, guarded *atomic.Bool) int {
	if !block {
		return p.look(batch, guarded)
	}
	p.into, p.guarded, p.n = batch, guarded, 0
	if p.raw.Read(p.try) != nil {
		return -1
	}
	return p.n
}

// look returns the number of events, -1 if only wake was called. It doesn't wait. wakeFd
// is never read: it is edge-triggered, so each write to it is an event.
//
// A look doesn't wait, so Go's scheduler need not be told of the system call. But the
// scheduler has a monitor, a thread that preempts handlers that compute for long. When no
// processor has work, the monitor sleeps until the next timer is due, or the scheduler is
// told of a system call. Then it looks about every 20 us for 50 times, which took a fifth
// of the time of a server that often rests for a moment. So the scheduler isn't told of a
// look while the guard is set, since that timer soon ends the monitor's sleep. If the
// guard was set after the monitor fell asleep, it was set for a visit, and the look
// before that visit has woken the monitor.
func (p *epoll) look(batch []ready, guarded *atomic.Bool) (n int) {
	look := lookSlow
	if guarded.Load() {
		look = sysLook
	}
	got, err := look(p.fd, p.events[:len(batch)])
	if err != nil {
		return 0
	}
	for i := range got {
		e := &p.events[i]
		if e.Fd == wakeSlot {
			continue
		}
		batch[n] = ready{uint32(e.Fd), uint32(e.Pad), fromEpoll(e.Events)}
		n++
	}
	if n == 0 && got > 0 {
		return -1
	}
	return n
}

// fromEpoll translates events. EPOLLRDHUP means a FIN of the peer (half-closed, RFC 9293
// section 3.6.1). EPOLLHUP means that both sides have ended. EPOLLERR means a reset or
// another error of the socket; the next read or write tells which.
func fromEpoll(e uint32) (ev uint32) {
	if e&unix.EPOLLIN != 0 {
		ev |= evIn
	}
	if e&unix.EPOLLOUT != 0 {
		ev |= evOut
	}
	if e&unix.EPOLLRDHUP != 0 {
		ev |= evHup
	}
	if e&unix.EPOLLPRI != 0 {
		ev |= evUrgent
	}
	if e&(unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		ev |= evReset
	}
	return ev
}

func lookSlow(fd int, events []unix.EpollEvent) (int, error) { return unix.EpollWait(fd, events, 0) }

func (p *epoll) wake() {
	one := [8]byte{1}
	p.mu.Lock()
	if p.wakeFd >= 0 {
		unix.Write(p.wakeFd, one[:]) // an edge, even though nothing reads it
	}
	p.mu.Unlock()
}

func (p *epoll) shut() {
	if p.f != nil {
		p.f.Close()
	} else {
		unix.Close(p.fd)
	}
	p.mu.Lock()
	if p.wakeFd >= 0 {
		unix.Close(p.wakeFd)
		p.wakeFd = -1
	}
	p.mu.Unlock()
}

// linuxSockets implements sockets for Linux. Its methods keep no state: any goroutine may
// call them while fd is open.
type linuxSockets struct {
	ep int // the epoll descriptor they are registered with
}

func errnoOf(err error) syscall.Errno {
	if e, ok := err.(syscall.Errno); ok {
		return e
	}
	return syscall.EIO
}

func (linuxSockets) read(fd int32, p []byte) (int, syscall.Errno)  { return sysRead(fd, p) }
func (linuxSockets) write(fd int32, p []byte) (int, syscall.Errno) { return sysWrite(fd, p) }

// readSlow and writeSlow are sysRead and sysWrite with package syscall. The race detector
// treats these calls as synchronization between the two sides of a connection.
func readSlow(fd int32, p []byte) (int, syscall.Errno) {
	n, err := syscall.Read(int(fd), p)
	if err != nil {
		return -1, errnoOf(err)
	}
	return n, 0
}

func writeSlow(fd int32, p []byte) (int, syscall.Errno) {
	n, err := syscall.Write(int(fd), p)
	if err != nil {
		return -1, errnoOf(err)
	}
	return n, 0
}

func (linuxSockets) writev(fd int32, a, b []byte) (int, syscall.Errno) { return sysWritev(fd, a, b) }

func writevSlow(fd int32, a, b []byte) (int, syscall.Errno) {
	race.Publish()
	n, err := unix.Writev(int(fd), [][]byte{a, b})
	if err != nil {
		return -1, errnoOf(err)
	}
	return n, 0
}

func (linuxSockets) sendFile(fd int32, f *File) (n int, err error) {
	in, err := f.F.SyscallConn()
	if err != nil {
		return 0, errNoSendfile
	}
	cerr := in.Control(func(src uintptr) {
		off := f.Off
		race.Publish()
		n, err = unix.Sendfile(int(fd), int(src), &off, int(min(f.N, maxSendfile)))
	})
	if cerr != nil {
		return 0, cerr
	}
	switch err {
	case nil, syscall.EAGAIN, syscall.EINTR:
		return n, err
	case syscall.EINVAL, syscall.ENOSYS, syscall.EOPNOTSUPP:
		return 0, errNoSendfile
	}
	return 0, os.NewSyscallError("sendfile", err)
}

func (linuxSockets) shutdown(fd int32, how int) error {
	race.Publish()
	return unix.Shutdown(int(fd), how)
}

func (linuxSockets) setLinger(fd int32, sec int) error {
	l := unix.Linger{Onoff: 1, Linger: int32(sec)}
	if sec < 0 {
		l = unix.Linger{}
	}
	return os.NewSyscallError("setsockopt", unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &l))
}

func (linuxSockets) localAddr(fd int32) (rawAddr, error) {
	sa, err := unix.Getsockname(int(fd))
	return fromSockaddr(sa), err
}

func (linuxSockets) hungUp(fd int32) (gone, reset bool) {
	p := [1]unix.PollFd{{Fd: fd, Events: unix.POLLRDHUP}}
	if _, err := unix.Poll(p[:], 0); err != nil {
		return false, false
	}
	reset = p[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	return reset || p[0].Revents&unix.POLLRDHUP != 0, reset
}

func (s linuxSockets) remove(fd int32) { unix.EpollCtl(s.ep, unix.EPOLL_CTL_DEL, int(fd), nil) }

func (linuxSockets) netConn(fd int32) (net.Conn, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	f := os.NewFile(uintptr(dup), "socket")
	defer f.Close() // FileConn duplicates it again
	return net.FileConn(f)
}

func (linuxSockets) close(fd int32) {
	race.Publish()
	unix.Close(int(fd))
}

func fromSockaddr(sa unix.Sockaddr) (a rawAddr) {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		a.kind, a.port = addrIP4, uint16(sa.Port)
		copy(a.ip[:], sa.Addr[:])
	case *unix.SockaddrInet6:
		a.kind, a.port, a.zone, a.ip = addrIP6, uint16(sa.Port), sa.ZoneId, sa.Addr
	}
	return a
}

func (linuxSockets) accept(fd uintptr) (accepted, syscall.Errno) {
	peer, _ := peers.Get().(*sockopt.PeerAddr)
	if peer == nil {
		peer = new(sockopt.PeerAddr)
	}
	defer peers.Put(peer)
	nfd, errno := sockopt.Accept(int(fd), peer)
	if errno != 0 {
		return accepted{fd: -1}, errno
	}
	var a rawAddr
	if ip, port, zone, ip4, ok := peer.IP(); ok {
		a = rawAddr{kind: addrIP6, port: port, zone: zone, ip: ip}
		if ip4 {
			a.kind = addrIP4
		}
	}
	return accepted{int32(nfd), a}, 0
}

// peers has memory for the addresses of peers. Accept overwrites it.
var peers pool.Pool

func (linuxSockets) setOption(fd, level, name, value int) error {
	return unix.SetsockoptInt(fd, level, name, value)
}

func (linuxSockets) duplicate(fd uintptr) (accepted, error) {
	sa, _ := unix.Getpeername(int(fd))
	dup, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return accepted{fd: -1}, os.NewSyscallError("fcntl", err)
	}
	return accepted{int32(dup), fromSockaddr(sa)}, nil
}

// accept accepts a connection, if there is one, into a.got. The worker that visits a
// calls it, in Control of the listener, so that the descriptor stays open. With TCP Fast
// Open (RFC 7413) the connection may already have bytes to read.
func (a *acceptor) accept(fd uintptr) {
	for {
		a.unblock(fd)
		got, errno := a.sys.accept(fd)
		switch errno {
		case 0:
			a.setOptions(got, a.options)
			a.setOptions(got, a.early)
			a.got = got
			return
		case syscall.EINTR:
		case syscall.EAGAIN:
			a.early = nil // connections that waited before prepare have all been accepted
			return
		default:
			a.err = os.NewSyscallError("accept4", errno)
			return
		}
	}
}

// setOptions sets options of a new connection. It ignores those that the system doesn't
// have.
func (a *acceptor) setOptions(got accepted, options [][3]int) {
	for _, o := range options {
		_ = a.sys.setOption(int(got.fd), o[0], o[1], o[2])
	}
}

// unblock makes the listener non-blocking again, so that accept returns at once if no
// connection waits. All duplicates of the listener's descriptor share that setting, even
// in other processes, and os.File.Fd clears it: os/exec calls that to pass a listener to
// a child. Any goroutine may call unblock while fd is open.
func (a *acceptor) unblock(fd uintptr) {
	if fl, err := unix.FcntlInt(fd, unix.F_GETFL, 0); err == nil && fl&unix.O_NONBLOCK == 0 {
		_ = unix.SetNonblock(int(fd), true)
	}
}

// prepare sets the options that connections inherit from their listener. Options that the
// listener doesn't have are set for each connection: package net listens with Multipath
// TCP, which has few options on older systems. Serve calls prepare before it registers
// the listener.
func (a *acceptor) prepare(keepAlive time.Duration) error {
	if _, ok := a.addr.(*net.TCPAddr); !ok {
		return nil
	}
	secs := int(max((keepAlive+time.Second-1)/time.Second, 1))
	return a.raw.Control(func(fd uintptr) {
		for _, o := range [][3]int{
			{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
			{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, secs},
			{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, secs},
		} {
			if a.sys.setOption(int(fd), o[0], o[1], o[2]) != nil {
				a.options = append(a.options, o)
			} else {
				a.early = append(a.early, o)
			}
		}
	})
}
