package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/galehttp/gale"
)

const (
	goTimeout  = time.Second // of one look
	goEvery    = time.Second // between looks at the least
	goMaxBytes = 8 << 20     // of one answer
)

// goFigures are those of the runtime of a Go program.
type goFigures struct {
	at         time.Time
	goroutines int
	heap       int64
	mallocs    uint64
	allocated  uint64
	cycles     int64
}

// goReader reads the figures of a Go program from an address of expvar or of pprof.
type goReader struct {
	url    string
	client *gale.Client
	read   func(deadline time.Time) (*goFigures, error)
}

// newGoReader finds out what address serves. An address without a path may be of either.
func newGoReader(address string) (*goReader, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an address such as http://127.0.0.1:6060/debug/vars", address)
	}
	r := &goReader{client: &gale.Client{MaxResponseBodySize: goMaxBytes}}
	paths := []string{u.Path}
	if strings.Trim(u.Path, "/") == "" {
		paths = []string{"/debug/vars", "/debug/pprof/"}
	}
	var first error
	for _, p := range paths {
		u.Path = p
		r.url, r.read = u.String(), r.readVars
		if i := strings.Index(p, "/pprof"); i >= 0 {
			u.Path, u.RawQuery = p[:i]+"/pprof/", ""
			r.url, r.read = u.String(), r.readProfiles
		}
		if _, err = r.look(); err == nil {
			return r, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("a Go program's figures can't be read: use the URL of its expvar or pprof, such as http://127.0.0.1:6060/debug/vars: %w", first)
}

// look reads the figures once.
func (r *goReader) look() (*goFigures, error) {
	f, err := r.read(time.Now().Add(goTimeout))
	if err != nil {
		return nil, err
	}
	f.at = time.Now()
	return f, nil
}

// get asks for a page and hands its body to use. The body is valid during the call.
func (r *goReader) get(deadline time.Time, address string, use func(body []byte) error) error {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.SetRequestURI(address)
	if err := r.client.DoDeadline(req, resp, deadline); err != nil {
		return err
	}
	if resp.StatusCode() != gale.StatusOK {
		return fmt.Errorf("%s: status %d", address, resp.StatusCode())
	}
	body, err := resp.BodyUncompressed()
	if err == nil {
		err = use(body)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	return nil
}

// readVars reads the page of package expvar. The number of goroutines is there if the
// program publishes it as "goroutines".
func (r *goReader) readVars(deadline time.Time) (*goFigures, error) {
	var page struct {
		Goroutines any `json:"goroutines"`
		Memstats   *struct {
			HeapAlloc  uint64
			Mallocs    uint64
			TotalAlloc uint64
			NumGC      uint32
		} `json:"memstats"`
	}
	err := r.get(deadline, r.url, func(body []byte) error {
		if err := json.Unmarshal(body, &page); err != nil {
			return err
		}
		if page.Memstats == nil {
			return errors.New("there are no memstats")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	m := page.Memstats
	f := &goFigures{heap: int64(m.HeapAlloc), mallocs: m.Mallocs, allocated: m.TotalAlloc, cycles: int64(m.NumGC)}
	if n, ok := page.Goroutines.(float64); ok && n >= 0 && n < 1e9 {
		f.goroutines = int(n)
	}
	return f, nil
}

// readProfiles reads the first line of the goroutines' profile and the figures after the
// heap's.
func (r *goReader) readProfiles(deadline time.Time) (*goFigures, error) {
	f := &goFigures{}
	err := r.get(deadline, r.url+"goroutine?debug=1", func(body []byte) error {
		line, _, _ := bytes.Cut(body, []byte("\n"))
		n, ok := strings.CutPrefix(string(bytes.TrimSpace(line)), "goroutine profile: total ")
		if !ok {
			return errors.New("this is not a profile of goroutines")
		}
		var err error
		f.goroutines, err = strconv.Atoi(n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, r.get(deadline, r.url+"heap?debug=1", f.readHeap)
}

// readHeap reads lines such as "# Mallocs = 123".
func (f *goFigures) readHeap(body []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 1<<20) // lists of pauses are long
	found := false
	for lines.Scan() {
		name, value, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "# "), " = ")
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			continue
		}
		switch name {
		case "HeapAlloc":
			f.heap, found = int64(n), true
		case "Mallocs":
			f.mallocs = n
		case "TotalAlloc":
			f.allocated = n
		case "NumGC":
			f.cycles = int64(n)
		}
	}
	if !found {
		return errors.Join(errors.New("this is not a profile of the heap with debug=1"), lines.Err())
	}
	return nil
}
