package gale

import (
	"bufio"
	"crypto/tls"
	"net"
	"time"
)

const DefaultMaxConnsPerHost = 512

const DefaultMaxIdemponentCallAttempts = 5

const DefaultMaxIdleConnDuration time.Duration = 10000000000

const DefaultMaxPendingRequests = 1024

const FIFO ConnPoolStrategyType = 0

const LIFO ConnPoolStrategyType = 1

func (*HostClient) AcquireConn(time.Duration, bool) (*clientConn, error) { panic("stub") }

func (*HostClient) AcquireReader(net.Conn) *bufio.Reader { panic("stub") }

func (*HostClient) AcquireWriter(net.Conn) *bufio.Writer { panic("stub") }

func (*HostClient) CloseConn(*clientConn) { panic("stub") }

func (*HostClient) CloseIdleConnections() { panic("stub") }

func (*HostClient) ConnsCount() int { panic("stub") }

func (*HostClient) Do(*Request, *Response) error { panic("stub") }

func (*HostClient) DoDeadline(*Request, *Response, time.Time) error { panic("stub") }

func (*HostClient) DoTimeout(*Request, *Response, time.Duration) error { panic("stub") }

func (*HostClient) IdleConnsCount() int { panic("stub") }

func (*HostClient) LastUseTime() time.Time { panic("stub") }

func (*HostClient) PendingRequests() int { panic("stub") }

func (*HostClient) ReleaseConn(*clientConn) { panic("stub") }

func (*HostClient) ReleaseReader(*bufio.Reader) { panic("stub") }

func (*HostClient) ReleaseWriter(*bufio.Writer) { panic("stub") }

func (*HostClient) SetMaxConns(int) { panic("stub") }

type ConnPoolStrategyType int

type HostClient struct {
	Addr                          string
	ConnPoolStrategy              ConnPoolStrategyType
	Dial                          DialFunc
	DialDualStack                 bool
	DialTimeout                   DialFuncWithTimeout
	DisableHeaderNamesNormalizing bool
	DisablePathNormalizing        bool
	IsTLS                         bool
	MaxConnDuration               time.Duration
	MaxConnWaitTimeout            time.Duration
	MaxConns                      int
	MaxIdemponentCallAttempts     int
	MaxIdleConnDuration           time.Duration
	MaxResponseBodySize           int
	Name                          string
	NoDefaultUserAgentHeader      bool
	ReadBufferSize                int
	ReadTimeout                   time.Duration
	RetryIf                       RetryIfFunc
	RetryIfErr                    RetryIfErrFunc
	RetryIfErrUpstream            RetryIfErrUpstreamFunc
	SecureErrorLogMessage         bool
	StreamResponseBody            bool
	TLSConfig                     *tls.Config
	Transport                     RoundTripper
	WriteBufferSize               int
	WriteTimeout                  time.Duration
}

type RetryIfErrFunc func(*Request, int, error) (bool, bool)

type RetryIfErrUpstreamFunc func(*Request, int, error, string) (bool, bool)

type RetryIfFunc func(*Request) bool

type RoundTripper interface {
	RoundTrip(*HostClient, *Request, *Response) (bool, error)
}

var DefaultTransport RoundTripper

type clientConn struct{}
