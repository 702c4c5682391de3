package gale

import (
	"context"
	"net"
	"time"
)

const DefaultDNSCacheDuration time.Duration = 60000000000

const DefaultDialTimeout time.Duration = 3000000000

func Dial(string) (net.Conn, error) { panic("stub") }

func DialDualStack(string) (net.Conn, error) { panic("stub") }

func DialDualStackTimeout(string, time.Duration) (net.Conn, error) { panic("stub") }

func DialTimeout(string, time.Duration) (net.Conn, error) { panic("stub") }

func FlushDNSCache() { panic("stub") }

func (*ErrDialWithUpstream) Error() string { panic("stub") }

func (*ErrDialWithUpstream) Unwrap() error { panic("stub") }

func (*TCPDialer) Dial(string) (net.Conn, error) { panic("stub") }

func (*TCPDialer) DialDualStack(string) (net.Conn, error) { panic("stub") }

func (*TCPDialer) DialDualStackTimeout(string, time.Duration) (net.Conn, error) { panic("stub") }

func (*TCPDialer) DialTimeout(string, time.Duration) (net.Conn, error) { panic("stub") }

func (*TCPDialer) FlushDNSCache() { panic("stub") }

type DialFunc func(string) (net.Conn, error)

type DialFuncWithTimeout func(string, time.Duration) (net.Conn, error)

type ErrDialWithUpstream struct {
	Upstream string
}

type Resolver interface {
	LookupIPAddr(context.Context, string) ([]net.IPAddr, error)
}

type TCPDialer struct {
	Concurrency          int
	DNSCacheDuration     time.Duration
	DisableDNSResolution bool
	KeepAlive            time.Duration
	LocalAddr            *net.TCPAddr
	Resolver             Resolver
}

var ErrDialTimeout error
