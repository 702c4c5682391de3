package gale

import (
	"crypto/tls"
	"time"
)

func Do(*Request, *Response) error { panic("stub") }

func DoDeadline(*Request, *Response, time.Time) error { panic("stub") }

func DoRedirects(*Request, *Response, int) error { panic("stub") }

func DoTimeout(*Request, *Response, time.Duration) error { panic("stub") }

func Get([]byte, string) (int, []byte, error) { panic("stub") }

func GetDeadline([]byte, string, time.Time) (int, []byte, error) { panic("stub") }

func GetTimeout([]byte, string, time.Duration) (int, []byte, error) { panic("stub") }

func Post([]byte, string, *Args) (int, []byte, error) { panic("stub") }

func (*Client) CloseIdleConnections() { panic("stub") }

func (*Client) ConnsCount() int { panic("stub") }

func (*Client) Do(*Request, *Response) error { panic("stub") }

func (*Client) DoDeadline(*Request, *Response, time.Time) error { panic("stub") }

func (*Client) DoRedirects(*Request, *Response, int) error { panic("stub") }

func (*Client) DoTimeout(*Request, *Response, time.Duration) error { panic("stub") }

func (*Client) Get([]byte, string) (int, []byte, error) { panic("stub") }

func (*Client) GetDeadline([]byte, string, time.Time) (int, []byte, error) { panic("stub") }

func (*Client) GetTimeout([]byte, string, time.Duration) (int, []byte, error) { panic("stub") }

func (*Client) IdleConnsCount() int { panic("stub") }

func (*Client) Post([]byte, string, *Args) (int, []byte, error) { panic("stub") }

type Client struct {
	ConfigureClient               func(*HostClient) error
	ConnPoolStrategy              ConnPoolStrategyType
	Dial                          DialFunc
	DialDualStack                 bool
	DialTimeout                   DialFuncWithTimeout
	DisableHeaderNamesNormalizing bool
	DisablePathNormalizing        bool
	MaxConnDuration               time.Duration
	MaxConnWaitTimeout            time.Duration
	MaxConnsPerHost               int
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
	StreamResponseBody            bool
	TLSConfig                     *tls.Config
	Transport                     RoundTripper
	WriteBufferSize               int
	WriteTimeout                  time.Duration
}
