package gale

import (
	"crypto/tls"
	"time"
)

func (*PipelineClient) Do(*Request, *Response) error { panic("stub") }

func (*PipelineClient) DoDeadline(*Request, *Response, time.Time) error { panic("stub") }

func (*PipelineClient) DoTimeout(*Request, *Response, time.Duration) error { panic("stub") }

func (*PipelineClient) PendingRequests() int { panic("stub") }

type PipelineClient struct {
	Addr                          string
	Dial                          DialFunc
	DialDualStack                 bool
	DisableHeaderNamesNormalizing bool
	DisablePathNormalizing        bool
	IsTLS                         bool
	Logger                        Logger
	MaxBatchDelay                 time.Duration
	MaxConns                      int
	MaxIdleConnDuration           time.Duration
	MaxPendingRequests            int
	MaxResponseBodySize           int
	Name                          string
	NoDefaultUserAgentHeader      bool
	ReadBufferSize                int
	ReadTimeout                   time.Duration
	TLSConfig                     *tls.Config
	WriteBufferSize               int
	WriteTimeout                  time.Duration
}

var ErrPipelineOverflow error
