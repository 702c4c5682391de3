package gale

import (
	"context"
	"time"
)

// defaultClient serves the functions of the package.
var defaultClient Client

// Do is [Client.Do] of the package's client, which has default settings and serves
// all functions of the package. A response body may have at most
// [DefaultMaxResponseBodySize] bytes; use a Client of your own for another limit.
func Do(req *Request, resp *Response) error { return defaultClient.Do(req, resp) }

// DoContext is [Client.DoContext] of the package's client.
func DoContext(ctx context.Context, req *Request, resp *Response) error {
	return defaultClient.DoContext(ctx, req, resp)
}

// DoTimeout is [Client.DoTimeout] of the package's client.
func DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	return defaultClient.DoTimeout(req, resp, timeout)
}

// DoDeadline is [Client.DoDeadline] of the package's client.
func DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return defaultClient.DoDeadline(req, resp, deadline)
}

// DoRedirects is [Client.DoRedirects] of the package's client.
func DoRedirects(req *Request, resp *Response, maxRedirectsCount int) error {
	return defaultClient.DoRedirects(req, resp, maxRedirectsCount)
}

// Get is [Client.Get] of the package's client.
func Get(dst []byte, url string) (statusCode int, body []byte, err error) {
	return defaultClient.Get(dst, url)
}

// GetContext is [Client.GetContext] of the package's client.
func GetContext(ctx context.Context, dst []byte, url string) (statusCode int, body []byte, err error) {
	return defaultClient.GetContext(ctx, dst, url)
}

// GetTimeout is [Client.GetTimeout] of the package's client.
func GetTimeout(dst []byte, url string, timeout time.Duration) (statusCode int, body []byte, err error) {
	return defaultClient.GetTimeout(dst, url, timeout)
}

// GetDeadline is [Client.GetDeadline] of the package's client.
func GetDeadline(dst []byte, url string, deadline time.Time) (statusCode int, body []byte, err error) {
	return defaultClient.GetDeadline(dst, url, deadline)
}

// Post is [Client.Post] of the package's client.
func Post(dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return defaultClient.Post(dst, url, postArgs)
}

// PostContext is [Client.PostContext] of the package's client.
func PostContext(ctx context.Context, dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return defaultClient.PostContext(ctx, dst, url, postArgs)
}
