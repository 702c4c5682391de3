package fasthttp_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/galehttp/gale"
)

// TestErrorTexts: errors have fasthttp's texts to the letter, also by Gale's own name;
// those that fasthttp doesn't have keep Gale's prefix.
func TestErrorTexts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{gale.ErrAbortHandler, "gale: the handler aborted the request"},
		//lint:ignore SA1019 it has a text all the same
		{gale.ErrAlreadyServing, "fasthttp: server is already serving connections"},
		{gale.ErrBadTrailer, "fasthttp: contain forbidden trailer"},
		{gale.ErrBodyTooLarge, "fasthttp: body size exceeds the given limit"},
		{gale.ErrClientGone, "gale: the client has gone"},
		{gale.ErrConcurrencyLimit, "fasthttp: cannot serve the connection because server.concurrency concurrent connections are served"},
		{gale.ErrConnPoolStrategyNotImpl, "fasthttp: connection pool strategy is not implement"},
		{gale.ErrConnectionClosed, "fasthttp: the server closed connection before returning the first response byte. make sure the server returns 'connection: close' response header before closing the connection"},
		{gale.ErrContentEncodingUnsupported, "fasthttp: unsupported content-encoding"},
		{gale.ErrDeadlineUpdatesDisabled, "fasthttp: deadline updates disabled"},
		{gale.ErrDialTimeout, "fasthttp: dialing to the given tcp address timed out"},
		{gale.ErrDuplicateContentLength, "fasthttp: duplicate content-length header"},
		{gale.ErrEmptyRequestURI, "fasthttp: requesturi cannot be empty"},
		{gale.ErrExtraWhitespaceInRequestLine, "fasthttp: extra whitespace in request line"},
		{gale.ErrGetOnly, "fasthttp: non-get request received"},
		{gale.ErrHostClientRedirectToDifferentScheme, "fasthttp: hostclient can't follow redirects to a different protocol, please use client instead"},
		{gale.ErrInvalidCookieValue, "fasthttp: invalid cookie value"},
		{gale.ErrMissingFile, "fasthttp: there is no uploaded file associated with the given key"},
		{gale.ErrMissingLocation, "fasthttp: missing location header for http redirect"},
		{gale.ErrMissingRequestMethod, "fasthttp: cannot find http request method"},
		{gale.ErrNeedMore, "fasthttp: need more data: cannot find trailing lf"},
		{gale.ErrNilConnection, "fasthttp: nil connection"},
		{gale.ErrNoArgValue, "fasthttp: no args value for the given key"},
		{gale.ErrNoAvailableClients, "fasthttp: no available clients"},
		{gale.ErrNoCookies, "fasthttp: no cookies found"},
		{gale.ErrNoFreeConns, "fasthttp: no free connections available to host"},
		{gale.ErrNoMultipartForm, "fasthttp: request content-type has bad boundary or is not multipart/form-data"},
		{gale.ErrNonNumericChars, "fasthttp: non-numeric chars found"},
		{gale.ErrPerIPConnLimit, "fasthttp: too many connections per ip"},
		{gale.ErrPipelineOverflow, "fasthttp: pipelined requests' queue has been overflowed. increase maxconns and/or maxpendingrequests"},
		{gale.ErrReadingResponseHeaders, "fasthttp: error when reading response headers"},
		{gale.ErrReadingResponseTrailer, "fasthttp: error when reading response trailer"},
		{gale.ErrRedirectBodyStream, "fasthttp: cannot follow a body-preserving redirect for a request with a body stream"},
		{gale.ErrRequestDone, "gale: the request was answered"},
		{gale.ErrResponseFirstLineMissingSpace, "fasthttp: cannot find whitespace in the first line of response"},
		{gale.ErrSmallReadBuffer, "fasthttp: small read buffer. increase readbuffersize"},
		{gale.ErrTLSHandshakeTimeout, "fasthttp: tls handshake timed out"},
		{gale.ErrTimeout, "fasthttp: timeout"},
		{gale.ErrTooManyRedirects, "fasthttp: too many redirects detected when doing the request"},
		{gale.ErrUnexpectedStatusCodeChar, "fasthttp: unexpected char at the end of status code"},
		{gale.ErrUnsupportedRequestMethod, "fasthttp: unsupported http request method"},
		{gale.ErrUnsupportedTransferEncoding, "fasthttp: unsupported transfer-encoding"},
		{gale.ErrorInvalidURI, "fasthttp: invalid uri"},
		{fasthttp.EscapeError("%zz"), `invalid url escape "%zz"`},
		{fasthttp.InvalidHostError("a b"), `invalid character "a b" in host name`},
		{second(fasthttp.ParseUint(nil)), "empty integer"},
		{second(fasthttp.ParseUint([]byte("1x"))), "unexpected trailing char found: expecting 0-9"},
		{second(fasthttp.ParseUfloat([]byte("-1"))), "negative input is invalid"},
		{new(fasthttp.Request).Write(bufio.NewWriter(new(strings.Builder))), "missing required host header in request"},
		{fasthttp.WriteMultipartForm(nil, nil, ""), "form boundary cannot be empty"},
		{new(fasthttp.Server).AppendCert("", ""), "cert or key has not provided"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if _, err := new(fasthttp.Args).GetUint("a"); err != gale.ErrNoArgValue || !errors.Is(err, fasthttp.ErrNoArgValue) {
		t.Errorf("%v is another error by the other name", err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestHeadLimitText: the error of a server for a head that is too large has the text of
// ErrSmallReadBuffer, which programs look for, and says which limit was met.
func TestHeadLimitText(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	got := make(chan error, 1)
	s := &fasthttp.Server{ReadBufferSize: 100, ErrorHandler: func(ctx *fasthttp.RequestCtx, err error) {
		got <- err
		ctx.SetStatusCode(fasthttp.StatusRequestHeaderFieldsTooLarge)
	}}
	go s.ServeConn(server)
	go client.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\nA: " + strings.Repeat("a", 100) + "\r\n\r\n"))
	go io.Copy(io.Discard, client)
	const want = "fasthttp: small read buffer. increase readbuffersize: more than 100 bytes of header: Server.ReadBufferSize is the limit"
	if err := <-got; !errors.Is(err, fasthttp.ErrSmallReadBuffer) || !strings.Contains(err.Error(), want) {
		t.Errorf("%q, want %q", err, want)
	}
}
