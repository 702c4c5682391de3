package gale

import "github.com/galehttp/gale/internal/lifetime"

// lend makes resp part of l: what it holds moves to memory of l, and grows there from now
// on. No slice of resp may have been lent before.
func (resp *Response) lend(l *lifetime.Loan) {
	resp.Header.lend(l)
	resp.content.lend(l)
}

// move moves what resp, which is part of l, holds to other memory of l.
func (resp *Response) move(l *lifetime.Loan) {
	resp.Header.lend(l)
	resp.content.move(l)
}

// renew is reset for resp, which is lent. It also ends what resp has lent so far: slices that
// the program has kept must not show the next response. A response of a server shares its
// loan with the request. There only the body ends, if the program has a slice of it.
func (resp *Response) renew() {
	l := resp.loan
	if l.Origin.Kind != "ReleaseResponse" {
		resp.dropLent()
		resp.reset()
		return
	}
	resp.reset()
	fill(resp.Header.digits[:])
	l.Renew(responseReset, func() { resp.move(l) })
}

// responseReset is when the bytes of a response of a pool end that is used again.
const responseReset = "the Response was reset or given to the next Do"

// lapse empties resp at the end of its loan. Its stream must have been closed.
func (resp *Response) lapse() {
	resp.Header.lapse()
	resp.content.lapse()
	resp.remote, resp.local, resp.wasHead = nil, nil, false
	resp.ImmediateHeaderFlush, resp.StreamBody, resp.SkipBody, resp.KeepBodyBuffer = false, false, false, false
}
