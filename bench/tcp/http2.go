package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// http2Load is what h2load does: so many connections, with so many streams in flight on each.
type http2Load struct{ conns, streams int }

// parseLoads reads "16x1,64x100".
func parseLoads(text string) (loads []http2Load, err error) {
	for part := range strings.SplitSeq(text, ",") {
		var l http2Load
		if n, err := fmt.Sscanf(part, "%dx%d", &l.conns, &l.streams); n != 2 || err != nil || l.conns < 1 || l.streams < 1 {
			return nil, fmt.Errorf("%q is no load: CONNECTIONSxSTREAMS", part)
		}
		loads = append(loads, l)
	}
	return loads, nil
}

// runHTTP2 measures all servers under each load.
func runHTTP2(servers []*server, o options) error {
	loads, err := parseLoads(o.loads)
	if err != nil {
		return err
	}
	for _, l := range loads {
		for _, s := range servers {
			s.samples = nil
		}
		for range o.rounds {
			for _, s := range servers {
				if err := s.measureHTTP2(l, o); err != nil {
					return fmt.Errorf("%s: %w", s.name, err)
				}
			}
		}
		proto := "HTTP/2"
		if o.tls {
			proto += " over TLS"
		}
		fmt.Printf("%s, %d connections, %d streams on each, %d rounds of %v, pinned %v\n", proto, l.conns, l.streams, o.rounds, o.round, o.pin)
		report(servers)
	}
	return nil
}

// installed returns the servers of names that can be run here, and tells of the others. Without
// h2load there are none.
func installed(names string) (found []string) {
	if _, err := exec.LookPath("h2load"); err != nil {
		log.Print("HTTP/2 is left out: h2load is not installed (nghttp2-client)")
		return nil
	}
	for name := range strings.SplitSeq(names, ",") {
		if _, ok := programs[name]; ok || lookPath(name) != "" {
			found = append(found, name)
			continue
		}
		log.Printf("%s is left out: it is not installed", name)
	}
	return found
}

// What h2load says when it begins to count, when it stops, and at its end.
const (
	loadBegins = "Main benchmark duration is started"
	loadEnds   = "Main benchmark duration is over"
	loadProto  = "Application protocol: h2" // or h2c
)

var loadTotal = regexp.MustCompile(`^requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, 0 failed, 0 errored`)

// measureHTTP2 runs one round of h2load. If h2load doesn't end in time it runs again, up to
// three times: it may hang when connecting takes long.
func (s *server) measureHTTP2(l http2Load, o options) (err error) {
	for range 3 {
		if err = s.tryHTTP2(l, o); !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return err
}

// tryHTTP2 runs h2load once. The handshakes are made in the time before it counts.
func (s *server) tryHTTP2(l http2Load, o options) error {
	limit, cancel := context.WithTimeout(context.Background(), 10*time.Second+3*o.round)
	defer cancel()
	scheme := "http"
	if o.tls {
		scheme = "https"
	}
	cmd := exec.CommandContext(limit, "h2load", "-c", strconv.Itoa(l.conns), "-m", strconv.Itoa(l.streams),
		"-D", milliseconds(o.round), "--warm-up-time", milliseconds(o.round/2), scheme+"://"+s.addr+"/")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	got, err := follow(out, s.cpu)
	if err != nil {
		_ = cmd.Process.Kill()
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return errors.Join(limit.Err(), err)
	}
	s.samples = append(s.samples, got)
	return nil
}

// milliseconds returns d as h2load reads it.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + "ms"
}

// follow reads what h2load writes, and looks at the server's CPU time when it begins and
// ends to count.
func follow(out io.Reader, used func() time.Duration) (got sample, err error) {
	var began time.Time
	var cpu time.Duration
	var last []string
	http2 := false
	in := bufio.NewScanner(out)
	for in.Scan() {
		line := in.Text()
		last = append(last, line)
		switch m := loadTotal.FindStringSubmatch(line); {
		case strings.HasPrefix(line, loadBegins):
			cpu, began = used(), time.Now()
		case strings.HasPrefix(line, loadEnds):
			got.cpu, got.wall = used()-cpu, time.Since(began)
		case strings.HasPrefix(line, loadProto):
			http2 = true
		case m != nil && m[1] == m[2]:
			got.requests, _ = strconv.Atoi(m[1])
		}
	}
	if err := in.Err(); err != nil {
		return got, err
	}
	if !http2 || began.IsZero() || got.requests == 0 || got.cpu <= 0 {
		return got, fmt.Errorf("h2load ended with:\n%s", strings.Join(last, "\n"))
	}
	return got, nil
}
