package adaptor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// keptRequest is what a handler has kept, and what it looked like then.
type keptRequest struct {
	w      http.ResponseWriter
	r      *http.Request
	header http.Header
	values [][]string
	body   io.ReadCloser
	text   string
	was    string
}

// look describes k, in memory of its own.
func (k *keptRequest) look() string {
	var b strings.Builder
	r := k.r
	fmt.Fprintf(&b, "%q %q %q %d %d %q %q\n", r.Method, r.RequestURI, r.Proto, r.ProtoMajor, r.ProtoMinor, r.Host, r.RemoteAddr)
	fmt.Fprintf(&b, "%#v %q\n", *r.URL, r.URL)
	names := make([]string, 0, len(k.header))
	for name := range k.header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%q: %q\n", name, k.header[name])
	}
	fmt.Fprintf(&b, "%q %q %d %q %t %q\n", k.values, r.Trailer, r.ContentLength, r.TransferEncoding, r.Close, r.Form)
	fmt.Fprintf(&b, "%q %q\n", k.w.Header(), k.text)
	return b.String()
}

// keep keeps what a handler can keep of a request.
func (k *keptRequest) keep(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	k.w, k.r, k.header, k.body = w, r, r.Header, r.Body
	for _, vv := range r.Header {
		k.values = append(k.values, vv)
	}
	k.text = r.Header.Get("X-Text") + r.URL.Path
	w.Header().Set("X-Kept", r.Header.Get("X-Text"))
	io.WriteString(w, "kept")
	k.was = k.look()
}

// use uses k when its handler has returned, as a program must not.
func (k *keptRequest) use() error {
	if n, err := k.body.Read(make([]byte, 100)); n > 0 || err == nil {
		return fmt.Errorf("the body gave %d bytes, %v", n, err)
	}
	k.w.WriteHeader(500)
	select {
	case <-k.w.(interface{ CloseNotify() <-chan bool }).CloseNotify():
	default:
		return errors.New("CloseNotify doesn't tell that the request is over")
	}
	if _, err := io.WriteString(k.w, "late"); !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("writing: %v", err)
	}
	return nil
}

// What handlers keep stays as it was for 1,000 later requests on the same connections,
// whose answers it has no effect on.
func TestKeptPartsStay(t *testing.T) {
	const conns, each = 4, 300
	for _, stream := range []bool{false, true} {
		var mu sync.Mutex
		var all []*keptRequest
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Keep") != "" {
				k := new(keptRequest)
				k.keep(w, r)
				mu.Lock()
				all = append(all, k)
				mu.Unlock()
				return
			}
			w.Header().Set("X-Answer", r.Header.Get("X-Text"))
			io.Copy(w, r.Body)
		})
		server := func() *gale.Server { return &gale.Server{Handler: NewFastHTTPHandler(h), StreamRequestBody: stream} }
		onEngines(t, server, func(t *testing.T, addr string) {
			all = nil
			var wg sync.WaitGroup
			for i := range conns {
				wg.Go(func() {
					if err := manyRequests(addr, i, each); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			mu.Lock()
			defer mu.Unlock()
			if len(all) != conns*3 {
				t.Errorf("%d requests were kept, want %d", len(all), conns*3)
			}
			for _, k := range all {
				if is := k.look(); is != k.was {
					t.Errorf("what was kept changed from\n%s\nto\n%s", k.was, is)
				}
				if err := k.use(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// manyRequests sends n requests on one connection, the first three of which are kept,
// and looks at the answers.
func manyRequests(addr string, conn, n int) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	br := bufio.NewReader(c)
	for i := range n {
		id := fmt.Sprintf("%d-%d-%s", conn, i, strings.Repeat("x", i%50))
		var req strings.Builder
		method, body := "GET", ""
		if i%3 > 0 {
			method, body = "POST", id
		}
		fmt.Fprintf(&req, "%s /%s?q=%s HTTP/1.1\r\nHost: h%s\r\nX-Text: %s\r\nx-own-name: %s\r\nCookie: %s\r\nAccept: %s\r\naccept: 2%s\r\n",
			method, id, id, id, id, id, id, id, id)
		if i < 3 {
			req.WriteString("X-Keep: yes\r\n")
		}
		switch i % 3 {
		case 1:
			fmt.Fprintf(&req, "Content-Length: %d\r\n\r\n%s", len(body), body)
		case 2:
			fmt.Fprintf(&req, "Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nX-Sum: %s\r\n\r\n", len(body), body, id)
		default:
			req.WriteString("\r\n")
		}
		if _, err := io.WriteString(c, req.String()); err != nil {
			return err
		}
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			return err
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if i < 3 {
			body, id = "kept", ""
		}
		if string(got) != body || resp.Header.Get("X-Answer") != id {
			return fmt.Errorf("request %d was answered %q with %q, want %q with %q", i, got, resp.Header, body, id)
		}
	}
	return nil
}
