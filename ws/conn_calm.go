package ws

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// calmConn is a connection of a program's own type. Panics of its methods become errors:
// they must not end a goroutine of a Conn, nor leave it locked.
type calmConn struct{ nc net.Conn }

// calm returns nc, as a calmConn if it isn't of a type of the standard library.
func calm(nc net.Conn) net.Conn {
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn, *tls.Conn:
		return nc
	}
	return calmConn{nc}
}

// recovered makes an error of a panic.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("ws: a method of the connection panicked: %v", p)
	}
}

func (c calmConn) Read(p []byte) (n int, err error) {
	defer recovered(&err)
	return c.nc.Read(p)
}

func (c calmConn) Write(p []byte) (n int, err error) {
	defer recovered(&err)
	return c.nc.Write(p)
}

func (c calmConn) Close() (err error) {
	defer recovered(&err)
	return c.nc.Close()
}

func (c calmConn) CloseWrite() (err error) {
	defer recovered(&err)
	if half, ok := c.nc.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (c calmConn) SetDeadline(t time.Time) (err error) {
	defer recovered(&err)
	return c.nc.SetDeadline(t)
}

func (c calmConn) SetReadDeadline(t time.Time) (err error) {
	defer recovered(&err)
	return c.nc.SetReadDeadline(t)
}

func (c calmConn) SetWriteDeadline(t time.Time) (err error) {
	defer recovered(&err)
	return c.nc.SetWriteDeadline(t)
}

func (c calmConn) LocalAddr() net.Addr  { return c.nc.LocalAddr() }
func (c calmConn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }
