package gale

import "github.com/galehttp/gale/internal/lifetime"

// lend makes c part of l: its memory moves to l, and grows there from now on.
func (c *Cookie) lend(l *lifetime.Loan) {
	c.loan = l
	for _, b := range [...]*[]byte{&c.key, &c.value, &c.domain, &c.path, &c.buf} {
		*b = lifetime.Move(l, *b)
	}
}

// lapse empties c at the end of its loan.
func (c *Cookie) lapse() {
	for _, b := range [...][]byte{c.key, c.value, c.domain, c.path, c.buf} {
		c.loan.KeepLast(b)
	}
	c.key, c.value, c.domain, c.path, c.buf = nil, nil, nil, nil, nil
	c.expire, c.maxAge, c.sameSite = CookieExpireUnlimited, 0, CookieSameSiteDisabled
	c.httpOnly, c.secure, c.partitioned = false, false, false
}

// kept returns b, the result of appending to old, in memory of the loan if there is one.
func (c *Cookie) kept(old, b []byte) []byte { return lifetime.Kept(c.loan, old, b) }
