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

// move moves what req, which is part of l, holds to other memory of l.
func (req *Request) move(l *lifetime.Loan) {
	req.Header.lend(l)
	req.content.move(l)
	req.uri.lend(l)
	req.postArgs.lend(l)
}

// renew is reset for req, which is lent; see Response.renew. Closers must have run.
func (req *Request) renew() {
	l := req.loan
	if l.Origin.Kind != "ReleaseRequest" {
		req.dropLent()
		req.reset()
		return
	}
	req.endForm()
	req.reset()
	fill(req.Header.digits[:])
	l.Renew("the Request was reset", func() { req.move(l) })
}

// lapse empties req at the end of its loan. Closers must have run, and the files of a form
// must have been removed. User values stay: package context may ask for them at any time.
func (req *Request) lapse() {
	req.Header.lapse()
	req.content.lapse()
	req.uri.lapse()
	req.uriParsed, req.uriBad, req.uriUsed, req.keepsSlash, req.isTLS = false, false, false, false, false
	req.postArgs.lapse()
	req.postArgsParsed = false
	req.form, req.formRaw, req.formSum, req.formBoundary = nil, false, 0, ""
	req.timeout, req.protocol, req.call = 0, "", nil
	req.whole, req.forward, req.routed = false, false, false
	req.KeepBodyBuffer, req.UseHostHeader, req.DisableRedirectPathNormalizing = false, false, false
}
