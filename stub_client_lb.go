package gale

import (
	"time"
)

const DefaultLBClientTimeout time.Duration = 1000000000

func (*LBClient) AddClient(BalancingClient) int { panic("stub") }

func (*LBClient) Do(*Request, *Response) error { panic("stub") }

func (*LBClient) DoDeadline(*Request, *Response, time.Time) error { panic("stub") }

func (*LBClient) DoTimeout(*Request, *Response, time.Duration) error { panic("stub") }

func (*LBClient) RemoveClients(func(BalancingClient) bool) int { panic("stub") }

type BalancingClient interface {
	DoDeadline(*Request, *Response, time.Time) error
	PendingRequests() int
}

type LBClient struct {
	Clients     []BalancingClient
	HealthCheck func(*Request, *Response, error) bool
	Timeout     time.Duration
}
