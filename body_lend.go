package gale

import (
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/pool"
)

// lend makes c part of l: its buffer moves to memory of l, and grows there from now on.
func (c *content) lend(l *lifetime.Loan) {
	c.loan = l
	if b := c.body; b != nil {
		c.body = nil
		c.takeBody(b)
	}
}

// lapse empties c at the end of its loan, after its stream was closed. Memory of the
// program that is the body, as of SetBodyRaw, is not part of the loan.
func (c *content) lapse() {
	if c.body != nil {
		c.loan.KeepLast(c.body.B)
	}
	*c = content{loan: c.loan}
}

// newBuf returns an empty buffer with room for at least n bytes, of memory of the loan if
// there is one.
func (c *content) newBuf(n int) *pool.Buf {
	if c.loan != nil {
		return pool.Lent(c.loan, n)
	}
	return pool.Get(n)
}

// takeLent is takeBody for a lent message: it makes a copy of b the body, in memory of the
// loan, and gives b back.
func (c *content) takeLent(b *pool.Buf) {
	used(c.loan)
	if c.body == nil || c.lent || cap(c.body.B) < len(b.B) {
		c.body, c.lent = c.newBuf(len(b.B)), false
	}
	c.body.B = append(c.body.B[:0], b.B...)
	pool.Put(b)
}

// swapLent exchanges the buffered bytes of a lent message with p; see Request.SwapBody. p
// becomes memory of the loan. What it returns belongs to the caller, so it is a copy.
func (c *content) swapLent(p []byte) []byte {
	old := append([]byte(nil), c.swapBody(p)...)
	if !c.loan.Over() {
		c.loan.Keep(p)
	}
	return old
}
