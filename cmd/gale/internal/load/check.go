package load

import (
	"fmt"
	"time"
)

// An Error says in one line what is wrong with a plan. Nothing was sent then.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

func refuse(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// maxWeights is the largest sum of the weights of targets, after their common divisor was
// taken out.
const maxWeights = 100_000

// Check reports what contradicts itself in p, as an *Error.
func (p *Plan) Check() error {
	for _, check := range []func(*Plan) error{checkTargets, checkSize, checkSchedule, checkProtocol, checkTimes} {
		if err := check(p); err != nil {
			return err
		}
	}
	return nil
}

func checkTargets(p *Plan) error {
	if len(p.Targets) == 0 {
		return refuse("no URL")
	}
	weights := make([]int, len(p.Targets))
	total, div := 0, 0
	for i := range p.Targets {
		t := &p.Targets[i]
		switch {
		case t.Source == nil:
			return refuse("%s: no request", t.URL)
		case t.Network != "tcp" && t.Network != "unix":
			return refuse("%s: unknown network %q", t.URL, t.Network)
		case t.Weight < 1:
			return refuse("%s: the weight %d is not positive", t.URL, t.Weight)
		}
		weights[i] = t.Weight
		total, div = total+t.Weight, gcd(div, t.Weight)
	}
	if total/div > maxWeights {
		return refuse("the weights of the URLs add up to %d: choose smaller ones, at most %d", total/div, maxWeights)
	}
	return nil
}

func checkSize(p *Plan) error {
	servers := len(p.endpoints())
	switch {
	case p.Connections < 1:
		return refuse("%d connections: there must be at least 1", p.Connections)
	case p.Threads < 1:
		return refuse("%d threads: there must be at least 1", p.Threads)
	case p.Connections < p.Threads:
		return refuse("%d connections are too few for %d threads: each needs one", p.Connections, p.Threads)
	case p.Connections < p.Threads*servers:
		return refuse("%d connections are too few for %d servers and %d threads: each thread needs one to each server",
			p.Connections, servers, p.Threads)
	case p.Count < 0 || p.Pipeline < 0 || p.Streams < 0 || p.RequestsPerConn < 0:
		return refuse("a number is negative")
	}
	return nil
}

func checkSchedule(p *Plan) error {
	if len(p.Schedule) == 0 {
		if p.Count == 0 && p.Duration <= 0 {
			return refuse("neither a number of requests nor a duration")
		}
		return nil
	}
	if p.Think > 0 {
		return refuse("a rate and a pause between requests contradict each other: the rate says when requests start")
	}
	var total time.Duration
	for _, r := range p.Schedule {
		switch {
		case r.From < 0 || r.To < 0 || !(r.From+r.To <= 1e9):
			return refuse("a rate from %g to %g is not between 0 and 1e9 a second", r.From, r.To)
		case r.Time <= 0:
			return refuse("a rate without a duration")
		}
		total += r.Time
	}
	if p.Duration != 0 && p.Duration != total {
		return refuse("the duration is %v, but the rates are for %v", p.Duration, total)
	}
	if newSchedule(p.Schedule).total == 0 {
		return refuse("the rate is 0 all the time")
	}
	return nil
}

func checkProtocol(p *Plan) error {
	switch {
	case p.WebSocket && p.HTTP2:
		return refuse("WebSocket over HTTP/2 can't be measured")
	case p.WebSocket && p.NoKeepAlive:
		return refuse("a WebSocket is kept alive: choose a number of requests per connection")
	case p.HTTP2 && p.Pipeline > 1:
		return refuse("a pipeline is for HTTP/1.1: choose streams for HTTP/2")
	case !p.HTTP2 && p.Streams > 1:
		return refuse("streams are for HTTP/2: choose a pipeline for HTTP/1.1")
	case p.NoKeepAlive && p.Pipeline > 1:
		return refuse("a pipeline needs connections that are kept alive")
	case p.NoKeepAlive && p.RequestsPerConn > 1:
		return refuse("connections that aren't kept alive have 1 request, not %d", p.RequestsPerConn)
	case p.HTTP2 && p.NoKeepAlive:
		return refuse("HTTP/2 has no connections without keep-alive: choose a number of requests per connection")
	}
	return nil
}

func checkTimes(p *Plan) error {
	for _, d := range []time.Duration{p.Duration, p.WarmUp, p.Think, p.Timeout, p.ConnectTimeout, p.Interval, p.Delay} {
		if d < 0 {
			return refuse("the duration %v is negative", d)
		}
	}
	return nil
}

// key tells addresses apart, and for WebSocket also URLs, because a connection belongs to one.
func (p *Plan) key(t *Target) string {
	secure := ""
	if t.TLS != nil {
		secure = fmt.Sprintf("%p", t.TLS)
	}
	if p.WebSocket {
		secure += " " + t.URL
	}
	return t.Network + " " + t.Address + " " + secure
}

// endpoints returns the targets with different addresses, the first of each.
func (p *Plan) endpoints() []*Target {
	var list []*Target
	seen := map[string]bool{}
	for i := range p.Targets {
		if t := &p.Targets[i]; !seen[p.key(t)] {
			seen[p.key(t)] = true
			list = append(list, t)
		}
	}
	return list
}
