package gale

import "time"

// Get returns the status code and body of url.
func (c *HostClient) Get(dst []byte, url string) (statusCode int, body []byte, err error) {
	panic("stub")
}

// GetDeadline is Get until deadline.
func (c *HostClient) GetDeadline(dst []byte, url string, deadline time.Time) (statusCode int, body []byte, err error) {
	panic("stub")
}

// GetTimeout is Get within timeout.
func (c *HostClient) GetTimeout(dst []byte, url string, timeout time.Duration) (statusCode int, body []byte, err error) {
	panic("stub")
}

// Post sends postArgs to url.
func (c *HostClient) Post(dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	panic("stub")
}
