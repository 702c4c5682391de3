package gale

import (
	"bytes"
	"context"
	"net"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// What package reverse needs of a HostClient.
func init() {
	door.AnnounceTrailers = func(h any, names string, from door.TrailerLender) {
		s := &h.(*RequestHeader).s
		s.PutMore(msg.Trailer, msg.Trailer.Name(), []byte(names), msg.Normalized)
		s.Trailers.Open = true
		s.Trailers.Expect(&s.Fields, from)
	}
	door.ReceiveTrailers = func(h, section any) {
		s := &h.(*RequestHeader).s
		s.Trailers.Receive(&s.Fields, section.(*msg.Fields), s.Spelling, head.ShownNever, false)
	}
	door.ContentLength = func(h any) int64 {
		if h, ok := h.(*RequestHeader); ok {
			used(h.s.Loan)
			return h.s.ContentLength
		}
		used(h.(*ResponseHeader).s.Loan)
		return h.(*ResponseHeader).s.ContentLength
	}
	door.SetContentLength = func(h any, n int64) {
		used(h.(*ResponseHeader).s.Loan)
		h.(*ResponseHeader).setLength(n)
	}
	door.MayHTTP2 = func(client any) bool {
		return client.(*HostClient).speaks() != protoHTTP1
	}
	door.DoTrailers = func(ctx context.Context, client, req, resp any) error {
		k := newCall(ctx, 0)
		k.kind = callTrailers
		return client.(*HostClient).doCall(&k, req.(*Request), resp.(*Response))
	}
	door.Upgrade = func(ctx context.Context, client, req, resp any) (*door.Upgraded, error) {
		c := client.(*HostClient)
		k := newCall(ctx, 0)
		k.kind, k.http1 = callUpgrade, true
		err := c.doOpen(&k, req.(*Request), resp.(*Response))
		return k.upgraded, err
	}
	door.DialTLS = func(client any, dial func(ctx context.Context, network, addr string, protocols []string) (net.Conn, error)) {
		client.(*HostClient).dialALPN = dial
	}
}

// giveAway gives cc to the caller of k if the server has switched to another protocol. The context
// of k doesn't break it off any more.
func (c *HostClient) giveAway(k *call, cc *clientConn, resp *Response) error {
	if resp.Header.s.Status != StatusSwitchingProtocols {
		return nil
	}
	k.verdict = verdictUnsafe // in case of an error
	if err := k.mustEnd(); err != nil {
		return err
	}
	if err := cc.clearDeadlines(); err != nil {
		return err
	}
	first := bytes.Clone(cc.conn.Unread())
	cc.conn.DropBuffer()
	k.upgraded = &door.Upgraded{Conn: cc.Conn(), First: first, Close: func() {
		defer c.touch()
		c.discard(cc)
	}}
	return nil
}

// dialALPN is a function of door.DialTLS.
type dialALPN func(ctx context.Context, network, addr string, protocols []string) (net.Conn, error)

// dialOffering calls c.dialALPN.
func (c *HostClient) dialOffering(k *call, addr string) (net.Conn, error) {
	var own []string
	if c.TLSConfig != nil {
		own = c.TLSConfig.NextProtos
	}
	ctx, cancel := k.context(c.MaxDialDuration)
	defer cancel()
	return c.dialALPN(ctx, c.network(), addr, c.alpn(k).names(own))
}

// sectionOf returns the trailer section of a stream.
func sectionOf(from door.Trailered) (t head.Trailers) {
	from.Trailers(door.Seal{}).(*RequestHeader).s.Trailers.CopyTo(&t)
	return t
}

// For tests: see internal/door.
func init() {
	door.WaitingCalls = func(c any) int { return int(c.(*HostClient).pool.waiting.Load()) }
	door.ClientStreams = func(c any) int {
		first := c.(*HostClient).pool.shared.first.Load()
		if first == nil {
			return 0
		}
		return (*first).running()
	}
	door.Unread = func(body any) int {
		r := body.(*h2Reader)
		sc := r.s.hc
		sc.mu.Lock()
		defer sc.mu.Unlock()
		return r.in.Len()
	}
	door.LoadOf = func(cc any) int { return (*cc.(*LBClient).members.Load())[0].load() }
	door.ClosePipes = func(c any) { c.(*PipelineClient).closePipes() }
}

// closePipes ends the connections of c as if they were idle.
func (c *PipelineClient) closePipes() {
	for i := range c.lanes {
		l := &c.lanes[i]
		l.mu.Lock()
		if l.conn != nil {
			l.conn.end(errPipeIdle)
		}
		l.mu.Unlock()
	}
}
