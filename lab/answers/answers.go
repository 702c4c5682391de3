// Package answers checks that servers send equal answers, before they are timed.
package answers

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/galehttp/gale/lab/plan"
)

// Answer is what a server sent.
type Answer struct {
	Proto  string
	Status int
	Fields http.Header
	Length int64 // -1: the head doesn't say
	Body   []byte
	Reused bool // the connection of an earlier request
}

// Check sends a case's request to a server until it knows whether the answers are right. The
// error says how they differ. Extra names the fields of an answer that weren't asked for.
func Check(ctx context.Context, addr string, c *plan.Case) (extra []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if c.Load.WebSocket {
		return nil, checkWebSocket(ctx, addr, c)
	}
	client := newClient(c)
	defer client.CloseIdleConnections()
	for n := range 2 { // the second shows whether the connection stays open
		a, err := ask(ctx, client, addr, c)
		if err != nil {
			return nil, err
		}
		if err := Compare(a, c); err != nil {
			return nil, err
		}
		if n == 1 && a.Reused == c.Load.NoKeepAlive {
			return nil, fmt.Errorf("the second request came over the connection of the first: %t", a.Reused)
		}
		extra = others(a, c)
	}
	return extra, nil
}

func newClient(c *plan.Case) *http.Client {
	t := &http.Transport{
		DisableCompression: true, DisableKeepAlives: c.Load.NoKeepAlive,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the lab made the certificate
		Protocols:       new(http.Protocols),
	}
	switch {
	case c.Load.HTTP2 && c.Needs.TLS:
		t.Protocols.SetHTTP2(true)
	case c.Load.HTTP2:
		t.Protocols.SetUnencryptedHTTP2(true)
	default:
		t.Protocols.SetHTTP1(true)
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func ask(ctx context.Context, client *http.Client, addr string, c *plan.Case) (*Answer, error) {
	a := &Answer{}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { a.Reused = i.Reused }})
	var body io.Reader
	if c.Request.Body > 0 {
		body = bytes.NewReader(plan.Payload(c.Request.Body))
	}
	req, err := http.NewRequestWithContext(ctx, c.Request.Method, URL(addr, c), body)
	if err != nil {
		return nil, err
	}
	for _, f := range c.Request.Fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Set(name, value)
	}
	r, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	a.Proto, a.Status, a.Fields, a.Length = r.Proto, r.StatusCode, r.Header, r.ContentLength
	a.Body, err = io.ReadAll(r.Body)
	return a, err
}

// URL is where a case's request goes.
func URL(addr string, c *plan.Case) string {
	scheme := "http://"
	switch {
	case c.Load.WebSocket:
		scheme = "ws://"
	case c.Needs.TLS:
		scheme = "https://"
	}
	return scheme + addr + c.Request.Path
}

// Compare says how an answer differs from what a case wants.
func Compare(a *Answer, c *plan.Case) error {
	w := &c.Request.Want
	if a.Status != http.StatusOK {
		return fmt.Errorf("status %d: %.80q", a.Status, a.Body)
	}
	if want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[c.Load.HTTP2]; a.Proto != want {
		return fmt.Errorf("%s, not %s", a.Proto, want)
	}
	for _, name := range []string{"Date", "Server"} {
		if a.Fields.Get(name) == "" {
			return fmt.Errorf("no %s", name)
		}
	}
	if got := a.Fields.Get("Content-Type"); got != w.ContentType {
		return fmt.Errorf("Content-Type %q, not %q", got, w.ContentType)
	}
	for name, want := range w.Fields {
		if got := a.Fields.Get(name); got == "" || want != "*" && got != want {
			return fmt.Errorf("%s %q, not %q", name, got, want)
		}
	}
	return compareBody(a, c)
}

func compareBody(a *Answer, c *plan.Case) error {
	w := &c.Request.Want
	body, coding := a.Body, a.Fields.Get("Content-Encoding")
	switch {
	case w.Gzip && coding != "gzip":
		return fmt.Errorf("Content-Encoding %q, not %q", coding, "gzip")
	case !w.Gzip && coding != "":
		return fmt.Errorf("Content-Encoding %q", coding)
	case w.Gzip:
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("the body is not gzip: %w", err)
		}
		if body, err = io.ReadAll(z); err != nil {
			return fmt.Errorf("the body is not gzip: %w", err)
		}
	case a.Length < 0:
		return errors.New("no Content-Length")
	}
	if want := w.Body(plan.Payload(c.Request.Body)); !bytes.Equal(body, want) {
		return fmt.Errorf("a body of %d bytes, %.60q, not of %d, %.60q", len(body), body, len(want), want)
	}
	return nil
}

// others returns the names of the fields that weren't asked for, sorted.
func others(a *Answer, c *plan.Case) (names []string) {
	asked := []string{"Date", "Server", "Content-Type", "Content-Length"}
	if c.Request.Want.Gzip {
		asked = append(asked, "Content-Encoding", "Vary")
		names = append(names, "body of "+strconv.Itoa(len(a.Body)))
	}
	if c.Load.NoKeepAlive {
		asked = append(asked, "Connection")
	}
	for name := range a.Fields {
		if _, ok := c.Request.Want.Fields[name]; !ok && !slices.Contains(asked, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
