package gale

// DoRedirects does the request and follows redirects.
func (c *HostClient) DoRedirects(req *Request, resp *Response, maxRedirectsCount int) error {
	panic("stub")
}
