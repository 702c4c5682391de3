package gale

import (
	"context"
	"crypto/tls"
	"io/fs"
	"net"
	"time"
)

const DefaultConcurrency = 262144

const DefaultMaxRequestBodySize = 4194304

const StateActive ConnState = 1

const StateClosed ConnState = 4

const StateHijacked ConnState = 3

const StateIdle ConnState = 2

const StateNew ConnState = 0

func AcquireTimer(time.Duration) *time.Timer { panic("stub") }

func CoarseTimeNow() time.Time { panic("stub") }

func GenerateTestCertificate(string) ([]byte, []byte, error) { panic("stub") }

func ListenAndServe(string, RequestHandler) error { panic("stub") }

func ListenAndServeTLS(string, string, string, RequestHandler) error { panic("stub") }

func ListenAndServeTLSEmbed(string, []byte, []byte, RequestHandler) error { panic("stub") }

func ListenAndServeUNIX(string, fs.FileMode, RequestHandler) error { panic("stub") }

func ReleaseTimer(*time.Timer) { panic("stub") }

func Serve(net.Listener, RequestHandler) error { panic("stub") }

func ServeConn(net.Conn, RequestHandler) error { panic("stub") }

func ServeTLS(net.Listener, string, string, RequestHandler) error { panic("stub") }

func ServeTLSEmbed(net.Listener, []byte, []byte, RequestHandler) error { panic("stub") }

func TimeoutHandler(RequestHandler, time.Duration, string) RequestHandler { panic("stub") }

func TimeoutWithCodeHandler(RequestHandler, time.Duration, string, int) RequestHandler { panic("stub") }

func (*Server) AppendCert(string, string) error { panic("stub") }

func (*Server) AppendCertEmbed([]byte, []byte) error { panic("stub") }

func (*Server) GetCurrentConcurrency() uint32 { panic("stub") }

func (*Server) GetOpenConnectionsCount() int32 { panic("stub") }

func (*Server) GetRejectedConnectionsCount() uint32 { panic("stub") }

func (*Server) ListenAndServe(string) error { panic("stub") }

func (*Server) ListenAndServeTLS(string, string, string) error { panic("stub") }

func (*Server) ListenAndServeTLSEmbed(string, []byte, []byte) error { panic("stub") }

func (*Server) ListenAndServeUNIX(string, fs.FileMode) error { panic("stub") }

func (*Server) NextProto(string, ServeHandler) { panic("stub") }

func (*Server) Serve(net.Listener) error { panic("stub") }

func (*Server) ServeConn(net.Conn) error { panic("stub") }

func (*Server) ServeTLS(net.Listener, string, string) error { panic("stub") }

func (*Server) ServeTLSEmbed(net.Listener, []byte, []byte) error { panic("stub") }

func (*Server) Shutdown() error { panic("stub") }

func (*Server) ShutdownWithContext(context.Context) error { panic("stub") }

func (ConnState) String() string { panic("stub") }

type ConnState int

type FormValueFunc func(*RequestCtx, string) []byte

type HijackHandler func(net.Conn)

type Logger interface {
	Printf(string, ...any)
}

type RequestConfig struct {
	MaxRequestBodySize int
	ReadTimeout        time.Duration
	WriteTimeout       time.Duration
}

type RequestHandler func(*RequestCtx)

type ServeHandler func(net.Conn) error

type Server struct {
	CloseOnShutdown                    bool
	Concurrency                        int
	ConnState                          func(net.Conn, ConnState)
	ContinueHandler                    func(*RequestHeader) bool
	DisableHeaderNamesNormalizing      bool
	DisableKeepalive                   bool
	DisablePreParseMultipartForm       bool
	ErrorHandler                       func(*RequestCtx, error)
	ExpectHandler                      func(*RequestCtx) int
	FormValueFunc                      FormValueFunc
	GetOnly                            bool
	Handler                            RequestHandler
	HeaderReceived                     func(*RequestHeader) RequestConfig
	IdleTimeout                        time.Duration
	KeepHijackedConns                  bool
	LazyRequestTime                    bool
	LogAllErrors                       bool
	Logger                             Logger
	MaxConnsPerIP                      int
	MaxIdleWorkerDuration              time.Duration
	MaxKeepaliveDuration               time.Duration
	MaxRequestBodySize                 int
	MaxRequestsPerConn                 int
	Name                               string
	NoDefaultContentType               bool
	NoDefaultDate                      bool
	NoDefaultServerHeader              bool
	ReadBufferSize                     int
	ReadTimeout                        time.Duration
	ReduceMemoryUsage                  bool
	SecureErrorLogMessage              bool
	SleepWhenConcurrencyLimitsExceeded time.Duration
	StreamRequestBody                  bool
	TCPKeepalive                       bool
	TCPKeepalivePeriod                 time.Duration
	TLSConfig                          *tls.Config
	WriteBufferSize                    int
	WriteTimeout                       time.Duration
}

var NetHttpFormValueFunc func(*RequestCtx, string) []byte
