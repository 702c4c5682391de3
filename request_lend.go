package gale

import "github.com/galehttp/gale/internal/lifetime"

// lend makes req part of l: what it holds moves to memory of l, and grows there from now
// on. No slice of req may have been lent before.
func (req *Request) lend(l *lifetime.Loan) {
	req.Header.lend(l)
	req.content.lend(l)
	req.uri.lend(l)
	req.postArgs.lend(l)
}

// lapse empties req at the end of its loan. Closers must have run, and the files of a form
// must have been removed. User values stay: package context may ask for them at any time.
func (req *Request) lapse() {
	req.Header.lapse()
	req.content.lapse()
	req.uri.lapse()
	req.uriParsed, req.uriBad, req.uriUsed, req.isTLS = false, false, false, false
	req.postArgs.lapse()
	req.postArgsParsed = false
	req.form, req.formRaw = nil, false
	req.timeout, req.protocol, req.call = 0, "", nil
	req.whole, req.forward = false, false
	req.KeepBodyBuffer, req.UseHostHeader, req.DisableRedirectPathNormalizing = false, false, false
}
