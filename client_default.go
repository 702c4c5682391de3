package gale

import (
	"context"
	"time"
)

// defaultClient is the client that the package functions share.
var defaultClient Client

// Do is [Client.Do] of the client that the package functions share, which has default
// settings. A response body may have at most
// [DefaultMaxResponseBodySize] bytes; use a Client of your own for another limit.
func Do(req *Request, resp *Response) error { return defaultClient.Do(req, resp) }

// DoContext is [Client.DoContext] of the client that the package functions share.
func DoContext(ctx context.Context, req *Request, resp *Response) error {
	return defaultClient.DoContext(ctx, req, resp)
}

// DoTimeout is [Client.DoTimeout] of the client that the package functions share.
func DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	return defaultClient.DoTimeout(req, resp, timeout)
}

// DoDeadline is [Client.DoDeadline] of the client that the package functions share.
func DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return defaultClient.DoDeadline(req, resp, deadline)
}

// DoRedirects is [Client.DoRedirects] of the client that the package functions share.
func DoRedirects(req *Request, resp *Response, maxRedirectsCount int) error {
	return defaultClient.DoRedirects(req, resp, maxRedirectsCount)
}

// Get is [Client.Get] of the client that the package functions share. The result
// belongs to the caller.
func Get(dst []byte, url string) (statusCode int, body []byte, err error) {
	return defaultClient.Get(dst, url)
}

// GetContext is [Client.GetContext] of the client that the package functions share.
// The result belongs to the caller.
func GetContext(ctx context.Context, dst []byte, url string) (statusCode int, body []byte, err error) {
	return defaultClient.GetContext(ctx, dst, url)
}

// GetTimeout is [Client.GetTimeout] of the client that the package functions share.
// The result belongs to the caller.
func GetTimeout(dst []byte, url string, timeout time.Duration) (statusCode int, body []byte, err error) {
	return defaultClient.GetTimeout(dst, url, timeout)
}

// GetDeadline is [Client.GetDeadline] of the client that the package functions share.
// The result belongs to the caller.
func GetDeadline(dst []byte, url string, deadline time.Time) (statusCode int, body []byte, err error) {
	return defaultClient.GetDeadline(dst, url, deadline)
}

// Post is [Client.Post] of the client that the package functions share. The result
// belongs to the caller.
func Post(dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return defaultClient.Post(dst, url, postArgs)
}

// PostContext is [Client.PostContext] of the client that the package functions share.
// The result belongs to the caller.
func PostContext(ctx context.Context, dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return defaultClient.PostContext(ctx, dst, url, postArgs)
}
