// Package plan holds the scenarios of the lab: what is asked of servers, how, and which
// published claim that settles.
package plan

import (
	"net/http"
	"strings"

	"github.com/galehttp/gale/lab/servers/work"
)

// Scenario is a kind of load, with its variants.
type Scenario struct {
	Name  string // that of HttpArena where it has the same one
	Claim string // the published claim that it settles, or what it shows, in one line
	Cases []Case
	// Kind says what runs it. The default compares servers.
	Kind Kind
	// Missing says why the scenario can't be run yet. Then it has no cases.
	Missing string
}

// Kind says what runs a scenario.
type Kind int

// The values of Kind.
const (
	Servers Kind = iota
	Clients      // a client of each library, and the same server for all
	GoBench      // the benchmarks of module bench
)

// Case is a variant of a scenario: one request and one load.
type Case struct {
	Name     string // unique in its scenario
	Quick    bool   // a part of a quick run
	Unpinned bool   // also measured without a core for each side
	Request  Request
	Load     Load
	Needs    Needs
}

// Request is what is sent, and how a right answer looks.
type Request struct {
	Method string
	Path   string
	Fields []string // "Name: value"
	Body   int      // bytes of the body
	Want   Want
}

// Want is what each server must answer. Besides, all must send Date and Server.
type Want struct {
	ContentType string
	Body        func(sent []byte) []byte
	Fields      map[string]string // with these values; "*" is any
	Gzip        bool              // Body is compared after decoding, and the length may be unknown
}

// Load is how requests are sent.
type Load struct {
	Connections     int // All is as many as descriptors allow
	Pipeline        int // 0 is 1
	RequestsPerConn int // 0: no limit
	NoKeepAlive     bool
	Rate            int // requests per second; 0: as many as possible
	HTTP2           bool
	Streams         int  // of HTTP/2 on a connection; 0 is 1
	NoResumption    bool // each TLS handshake is a whole one
	Idle            int  // more connections, which had one request each and then wait
	WebSocket       bool // the body is a message, which must come back
}

// All stands for as many connections as descriptors allow.
const All = -1

// Needs are what a server must be started with.
type Needs struct {
	TLS, HTTP2, Stream, Files, Proxy bool
}

// Find returns the scenario with a name, nil if there is none.
func Find(name string) *Scenario {
	all := Scenarios()
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

// Names returns the names of all scenarios, in order.
func Names() (names []string) {
	for _, s := range Scenarios() {
		names = append(names, s.Name)
	}
	return names
}

// Payload returns the body of a request, n bytes of text.
func Payload(n int) []byte {
	const line = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd\r\n"
	return []byte(strings.Repeat(line, n/len(line)+1)[:n])
}

func get(path string, fields ...string) Request {
	return Request{Method: http.MethodGet, Path: path, Fields: fields, Want: Want{ContentType: work.PlainText, Body: text(work.Greeting)}}
}

func post(path string, n int, want Want) Request {
	return Request{Method: http.MethodPost, Path: path, Body: n, Want: want}
}

func text(s string) func([]byte) []byte { return func([]byte) []byte { return []byte(s) } }

func same(sent []byte) []byte { return sent }
