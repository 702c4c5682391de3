//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"
)

// answerTime bounds how long a request may take.
const answerTime = 3 * time.Second

// answer is a response, or why there is none.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// ask sends bytes as they are and reads one response.
func (r *running) ask(raw string) answer {
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		return answer{err: err}
	}
	defer c.Close()
	return askOn(c, bufio.NewReader(c), raw, strings.HasPrefix(raw, "HEAD "))
}

func askOn(c net.Conn, br *bufio.Reader, raw string, head bool) answer {
	_ = c.SetDeadline(time.Now().Add(answerTime))
	go func() { _, _ = io.WriteString(c, raw) }() // the answer may come before all is sent
	req := &http.Request{Method: http.MethodGet}
	if head {
		req.Method = http.MethodHead
	}
	resp, err := http.ReadResponse(br, req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, body, err}
}

// get asks for a target, which isn't changed. fields are lines without their ends.
func (r *running) get(target string, fields ...string) answer {
	return r.ask(request("GET", target, append(fields, "Connection: close")...))
}

// page gets a page as a browser does: it follows redirects. target is where the page is.
func (r *running) page(target string) (a answer, at string) {
	for range 3 {
		a = r.get(target, acceptHTML)
		to := a.header.Get("Location")
		if a.status < 300 || a.status > 399 || !strings.HasPrefix(to, "/") {
			break
		}
		target = to
	}
	return a, target
}

func request(method, target string, fields ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\n", method, target)
	for _, f := range fields {
		b.WriteString(f + "\r\n")
	}
	b.WriteString("\r\n")
	return b.String()
}

func (a answer) has(s string) bool { return bytes.Contains(a.body, []byte(s)) }

// is reports whether the answer is a file with these bytes.
func (a answer) is(s string) bool {
	return a.err == nil && a.status == http.StatusOK && string(a.body) == s
}

// refused describes an answer to something that a server shouldn't serve.
func (a answer) refused() string {
	switch {
	case a.timedOut():
		return "no answer"
	case a.err != nil && a.status == 0:
		return "connection closed"
	}
	return fmt.Sprint(a.status)
}

func (a answer) timedOut() bool {
	return errors.Is(a.err, os.ErrDeadlineExceeded)
}

// overTLS asks for a file with TLS, and returns the protocol that was chosen.
// Certificates aren't checked.
func (r *running) overTLS(target string) (protocol string, err error) {
	client := http.Client{Timeout: answerTime, Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		ForceAttemptHTTP2: true,
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, r.addr)
		},
	}}
	_, port, _ := net.SplitHostPort(r.addr)
	var resp *http.Response
	for deadline := time.Now().Add(answerTime); ; time.Sleep(50 * time.Millisecond) {
		resp, err = client.Get("https://localhost:" + port + target)
		if err == nil {
			break
		}
		if time.Now().After(deadline) { // a program may listen before it has its certificate
			return "", err
		}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", resp.StatusCode)
	}
	return resp.Proto, nil
}

var hrefs = regexp.MustCompile(`href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))`)

// links returns the targets of the links in a page at base that lead to its host.
func links(page []byte, base string) []string {
	seen := map[string]bool{}
	var all []string
	for _, m := range hrefs.FindAllSubmatch(page, -1) {
		target := resolve(html.UnescapeString(string(bytes.Join(m[1:], nil))), base)
		if target != "" && !seen[target] {
			seen[target] = true
			all = append(all, target)
		}
	}
	return all
}

// resolve does what the URL Standard says for the links that listings have. It returns ""
// for links to other hosts.
func resolve(ref, base string) string {
	ref = strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(ref)
	ref, _, _ = strings.Cut(ref, "#")
	switch scheme, _, ok := strings.Cut(ref, ":"); {
	case ref == "", strings.HasPrefix(ref, "//"), ok && !strings.ContainsAny(scheme, "/?"):
		return ""
	case ref[0] == '?':
		base, _, _ = strings.Cut(base, "?")
		ref = base + ref
	case ref[0] != '/':
		ref = base[:strings.LastIndexByte(base, '/')+1] + strings.TrimPrefix(ref, "./")
	}
	var b strings.Builder
	for _, c := range []byte(ref) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>`{}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
