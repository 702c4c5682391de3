package gale

import "github.com/galehttp/gale/internal/lifetime"

// lend makes resp part of l: what it holds moves to memory of l, and grows there from now
// on. No slice of resp may have been lent before.
func (resp *Response) lend(l *lifetime.Loan) {
	resp.Header.lend(l)
	resp.content.lend(l)
}

// lapse empties resp at the end of its loan. Its stream must have been closed.
func (resp *Response) lapse() {
	resp.Header.lapse()
	resp.content.lapse()
	resp.remote, resp.local, resp.wasHead = nil, nil, false
	resp.ImmediateHeaderFlush, resp.StreamBody, resp.SkipBody, resp.KeepBodyBuffer = false, false, false, false
}
