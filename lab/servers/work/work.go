// Package work is what the lab's server programs in Go have in common: their flags, and
// what they answer.
//
// Every server, in whatever language, answers
//
//	GET  /          Greeting
//	GET  /fields    Greeting, with Fields
//	GET  /sleep     Greeting, after Pause
//	POST /echo      the request's body
//	POST /upload    the number of bytes of the request's body, which it doesn't keep
//	POST /collect   the same, but first it has the whole body in memory
//	GET  /json      a Dataset with its totals, encoded for each request
//	GET  /compress  Long, encoded with gzip for each request
//	GET  /files/... a file below the folder of -files
//	GET  /ws        a WebSocket that sends each message back
//
// or a part of these. Each answer over HTTP has Date, Server, Content-Type and Content-Length.
package work

import (
	"encoding/json"
	"expvar"
	"flag"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Parts of answers. MaxBody is the size of the largest body that servers must accept.
const (
	Greeting  = "Hello, world!"
	Server    = "lab"
	PlainText = "text/plain; charset=utf-8"
	Binary    = "application/octet-stream"
	JSONType  = "application/json"
	Pause     = time.Millisecond
	MaxBody   = 32 << 20
	GzipLevel = 6
)

// Fields are four more fields of a response.
var Fields = [4][2]string{
	{"X-Request-Id", "0123456789abcdef0123456789abcdef"},
	{"Cache-Control", "no-store, max-age=0"},
	{"X-Content-Type-Options", "nosniff"},
	{"Strict-Transport-Security", "max-age=63072000; includeSubDomains"},
}

// Options are the flags of a server program. A program has those that it can serve.
type Options struct {
	Addr   string // listen here
	Side   string // expvar's figures over HTTP here, if it isn't empty
	TLS    string // folder with cert.pem and key.pem; empty: no TLS
	Files  string // folder of /files/
	To     string // be a proxy to this address, and nothing else
	Stream bool   // read bodies of requests as streams
	HTTP2  bool   // HTTP/2 too: by ALPN over TLS, with prior knowledge without
}

// Parse parses the flags, and starts serving the side address.
func Parse() *Options {
	log.SetFlags(0)
	log.SetPrefix(filepath.Base(os.Args[0]) + ": ")
	o := &Options{}
	flag.StringVar(&o.Addr, "addr", "127.0.0.1:8080", "listen on `host:port`")
	flag.StringVar(&o.Side, "side", "", "serve expvar's figures on `host:port`")
	flag.StringVar(&o.TLS, "tls", "", "speak TLS with cert.pem and key.pem of `folder`")
	flag.StringVar(&o.Files, "files", "", "serve /files/ from `folder`")
	flag.StringVar(&o.To, "to", "", "pass all requests on to `host:port`")
	flag.BoolVar(&o.Stream, "stream", false, "read bodies of requests as streams")
	flag.BoolVar(&o.HTTP2, "http2", false, "speak HTTP/2 too")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if o.Side != "" {
		go func() { log.Fatal(http.ListenAndServe(o.Side, expvar.Handler())) }()
	}
	return o
}

// Cert and Key are the paths of the certificate and its key.
func (o *Options) Cert() string { return filepath.Join(o.TLS, "cert.pem") }

// Key is described at Cert.
func (o *Options) Key() string { return filepath.Join(o.TLS, "key.pem") }

// Dataset is what /json encodes.
type Dataset struct {
	Count int    `json:"count"`
	Items []Item `json:"items"`
}

// Item is a row of a Dataset. Total is computed for each request.
type Item struct {
	ID       int      `json:"id"`
	Name     string   `json:"name"`
	Price    int      `json:"price"`
	Quantity int      `json:"quantity"`
	Active   bool     `json:"active"`
	Tags     []string `json:"tags"`
	Total    int      `json:"total"`
}

// rows is how many items /json has.
const rows = 20

var datasets = sync.Pool{New: func() any { return &Dataset{Items: make([]Item, rows)} }}

// JSON returns the body of /json. The caller owns it. All servers in Go use encoding/json,
// so that the scenario compares servers and not encoders.
func JSON() []byte {
	d := datasets.Get().(*Dataset)
	defer datasets.Put(d)
	d.Count = rows
	for i := range d.Items {
		d.Items[i] = item(i)
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // these types can always be encoded
	}
	return text
}

var tags = []string{"fast", "small"}

func item(i int) Item {
	price, quantity := 100+i*7, 1+i%5
	return Item{i + 1, "item number", price, quantity, i%2 == 0, tags, price * quantity}
}

// Long is the text that /compress encodes: lines of a log.
var Long = long()

func long() []byte {
	var b []byte
	for i := range 256 {
		b = append(b, "2026-01-02T03:04:05Z level=info request="...)
		b = strconv.AppendInt(b, int64(i*7919%10007), 10)
		b = append(b, " status=200 path=/items/"...)
		b = strconv.AppendInt(b, int64(i*31), 10)
		b = append(b, '\n')
	}
	return b
}

// Count reads r to its end and returns the number of bytes in decimal.
func Count(r io.Reader) ([]byte, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	var n int64
	for {
		got, err := r.Read(*buf)
		n += int64(got)
		if err == io.EOF {
			return strconv.AppendInt(nil, n, 10), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}
