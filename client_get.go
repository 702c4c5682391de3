package gale

import (
	"context"
	"math"
	"time"
)

// fetchGet sends a GET and follows redirects. A limit of 0 is none.
func fetchGet(ctx context.Context, c getter, dst []byte, url string, limit time.Duration) (int, []byte, error) {
	req := acquireRequest()
	defer ReleaseRequest(req)
	req.SetRequestURI(url)
	req.timeout = limit
	return fetch(ctx, c, dst, req)
}

// fetchPost sends a form and follows redirects. args may be nil.
func fetchPost(ctx context.Context, c getter, dst []byte, url string, args *Args) (int, []byte, error) {
	req := acquireRequest()
	defer ReleaseRequest(req)
	req.SetRequestURI(url)
	req.Header.SetMethod(MethodPost)
	req.Header.SetContentType("application/x-www-form-urlencoded")
	if args != nil {
		req.SetBodyRaw(args.QueryString())
	}
	return fetch(ctx, c, dst, req)
}

// getter is a client that also tells the limit for a body.
type getter interface {
	doer
	maxBody() int
}

// fetch returns the status and the body of the last response to req, after
// redirects.
func fetch(ctx context.Context, c getter, dst []byte, req *Request) (int, []byte, error) {
	resp := acquireResponse()
	defer ReleaseResponse(resp)
	req.whole = true
	err := doRedirects(ctx, c, req, resp, maxGetRedirects)
	if err != nil && err != ErrTooManyRedirects && err != ErrMissingLocation {
		return 0, dst[:0], err
	}
	body, readErr := takeBody(dst, resp, c.maxBody())
	if readErr != nil {
		return 0, body, readErr
	}
	return resp.StatusCode(), body, err
}

// largeBody is the size in bytes from which a body that doesn't fit into the
// caller's buffer is returned without a copy.
const largeBody = 4 << 10

// takeBody replaces the contents of dst with the body of resp.
func takeBody(dst []byte, resp *Response, limit int) ([]byte, error) {
	if resp.IsBodyStream() {
		if err := readStreamLimit(resp, limit); err != nil {
			return dst[:0], err
		}
	}
	body := resp.bodyBytes()
	if len(body) > cap(dst) && len(body) >= largeBody {
		return resp.SwapBody(nil), nil
	}
	return append(dst[:0], body...), nil
}

// readStreamLimit reads the body, a stream, and makes its bytes the body. If the
// limit is above 0, a longer body is ErrBodyTooLarge.
func readStreamLimit(resp *Response, limit int) error {
	most := int64(math.MaxInt64)
	if limit > 0 {
		most = int64(limit) + 1
	}
	b := resp.bodyBuf()
	b.Reset()
	n, err := copyStream(b, resp.BodyStream(), most)
	if err == nil && n == most {
		err = ErrBodyTooLarge
	}
	if closeErr := resp.closeStream(err); err == nil {
		err = closeErr
	}
	if err != nil {
		resp.fail(err)
	}
	return err
}

// bodyLimit returns the limit that a MaxResponseBodySize of size means; 0 is no
// limit.
func bodyLimit(size int) int {
	if size == 0 {
		return DefaultMaxResponseBodySize
	}
	return max(size, 0)
}

func (c *Client) maxBody() int { return bodyLimit(c.MaxResponseBodySize) }

func (c *HostClient) maxBody() int { return bodyLimit(c.MaxResponseBodySize) }

// Get sends a GET request to url and returns the status code and the body. url
// needs a scheme (http or https) and a host. It follows up to 16 redirects, as
// DoRedirects does. The result belongs to the caller.
//
// The body is written into dst, whose contents are replaced, if dst has room for
// it. On an error the body is empty and the code is 0, except for
// [ErrTooManyRedirects] and [ErrMissingLocation], which come with the last
// response. MaxResponseBodySize applies in all cases.
func (c *Client) Get(dst []byte, url string) (statusCode int, body []byte, err error) {
	return fetchGet(context.Background(), c, dst, url, 0)
}

// GetContext is Get with a context: when ctx ends, it returns ctx.Err(), whatever
// it is waiting for. The result belongs to the caller.
func (c *Client) GetContext(ctx context.Context, dst []byte, url string) (statusCode int, body []byte, err error) {
	return fetchGet(ctx, c, dst, url, 0)
}

// GetTimeout is Get with a time limit for all redirects together: after timeout it
// returns [ErrTimeout]. If timeout is 0 or negative, it returns the error at once,
// with dst unchanged. The result belongs to the caller.
func (c *Client) GetTimeout(dst []byte, url string, timeout time.Duration) (statusCode int, body []byte, err error) {
	if timeout <= 0 {
		return 0, dst, ErrTimeout
	}
	return fetchGet(context.Background(), c, dst, url, timeout)
}

// GetDeadline is GetTimeout with a deadline instead of a timeout. The result
// belongs to the caller.
func (c *Client) GetDeadline(dst []byte, url string, deadline time.Time) (statusCode int, body []byte, err error) {
	return c.GetTimeout(dst, url, time.Until(deadline))
}

// Post sends postArgs to url as a form (application/x-www-form-urlencoded) and
// returns the response. If postArgs is nil, the form is empty. Redirects, dst and
// errors are as in Get. The result belongs to the caller.
func (c *Client) Post(dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return fetchPost(context.Background(), c, dst, url, postArgs)
}

// PostContext is Post with a context: when ctx ends, it returns ctx.Err(), whatever
// it is waiting for. The result belongs to the caller.
func (c *Client) PostContext(ctx context.Context, dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return fetchPost(ctx, c, dst, url, postArgs)
}

// Get sends a GET request to url and returns the status code and the body; see
// Client.Get. url must name a host, but the request always goes to the addresses of
// the HostClient. The result belongs to the caller.
func (c *HostClient) Get(dst []byte, url string) (statusCode int, body []byte, err error) {
	return fetchGet(context.Background(), c, dst, url, 0)
}

// GetContext is Get with a context: when ctx ends, it returns ctx.Err(), whatever
// it is waiting for. The result belongs to the caller.
func (c *HostClient) GetContext(ctx context.Context, dst []byte, url string) (statusCode int, body []byte, err error) {
	return fetchGet(ctx, c, dst, url, 0)
}

// GetTimeout is Get with a time limit for all redirects together: after timeout it
// returns [ErrTimeout]. If timeout is 0 or negative, it returns the error at once,
// with dst unchanged. The result belongs to the caller.
func (c *HostClient) GetTimeout(dst []byte, url string, timeout time.Duration) (statusCode int, body []byte, err error) {
	if timeout <= 0 {
		return 0, dst, ErrTimeout
	}
	return fetchGet(context.Background(), c, dst, url, timeout)
}

// GetDeadline is GetTimeout with a deadline instead of a timeout. The result
// belongs to the caller.
func (c *HostClient) GetDeadline(dst []byte, url string, deadline time.Time) (statusCode int, body []byte, err error) {
	return c.GetTimeout(dst, url, time.Until(deadline))
}

// Post sends postArgs to url as a form; see Client.Post. The result belongs to the
// caller.
func (c *HostClient) Post(dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return fetchPost(context.Background(), c, dst, url, postArgs)
}

// PostContext is Post with a context: when ctx ends, it returns ctx.Err(), whatever
// it is waiting for. The result belongs to the caller.
func (c *HostClient) PostContext(ctx context.Context, dst []byte, url string, postArgs *Args) (statusCode int, body []byte, err error) {
	return fetchPost(ctx, c, dst, url, postArgs)
}

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
