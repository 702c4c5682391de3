package plan

import (
	"net/http"
	"strconv"

	"github.com/galehttp/gale/lab/servers/work"
)

// conns is how many connections a load has if the scenario isn't about their number.
const conns = 64

// Files are the names and sizes of the files that servers serve.
var Files = []struct {
	Name string
	Size int
}{{"1k.txt", 1 << 10}, {"64k.txt", 64 << 10}, {"1m.txt", 1 << 20}}

// Scenarios returns all scenarios, those that are worth most first.
func Scenarios() []Scenario {
	return []Scenario{
		{
			Name:  "hello",
			Claim: `"fasthttp is up to 10 times faster than net/http": the smallest request and answer, over sockets`,
			Cases: []Case{{Name: "64", Quick: true, Unpinned: true, Request: get("/"), Load: Load{Connections: conns}}},
		},
		{
			Name:  "pipelined",
			Claim: `"10 times faster": 16 requests in each packet take the kernel's share away, and the ratio of the libraries is left`,
			Cases: []Case{{Name: "16", Quick: true, Request: get("/"), Load: Load{Connections: conns, Pipeline: 16}}},
		},
		{
			Name:  "headers",
			Claim: `"four more header fields cost two thirds of the throughput": fields of requests, of answers, and a browser's`,
			Cases: headers(),
		},
		{
			Name:  "limited-conn",
			Claim: `"1.3 to 1.7 times": 10 requests on a connection, so that accepting takes a part of the time`,
			Cases: []Case{{Name: "10", Quick: true, Request: get("/"), Load: Load{Connections: conns, RequestsPerConn: 10}}},
		},
		{
			Name:  "no-keepalive",
			Claim: `"1.3 to 1.7 times", measured with ab: a connection for each request, which the kernel spends most time on`,
			Cases: []Case{{Name: "1", Quick: true, Request: get("/"), Load: Load{Connections: conns, NoKeepAlive: true}}},
		},
		{
			Name:  "long-connections",
			Claim: `"long-lived connections eat the advantage": the same load over more and more connections`,
			Cases: long(),
		},
		{
			Name:  "efficiency",
			Claim: `"fasthttp was slower, because the generator was the bottleneck": a fixed rate that both sides can do, and the CPU time that each request costs`,
			Cases: rates(),
		},
		{
			Name:  "bodies",
			Claim: `no claim: where copying bodies outweighs the heads`,
			Cases: bodies(),
		},
		{
			Name:  "idle",
			Claim: `"long-lived connections eat the advantage": what 10,000 idle ones take in memory, and what they do to 64 active ones`,
			Cases: []Case{{Name: "10000", Quick: true, Request: get("/"), Load: Load{Connections: conns, Idle: 10000}}},
		},
		{
			Name:  "json",
			Claim: `"1.3 to 1.7 times": a handler that does some work of its own, here 20 rows as JSON`,
			Cases: []Case{{Name: "20", Quick: true, Request: Request{
				Method: http.MethodGet, Path: "/json",
				Want: Want{ContentType: work.JSONType, Body: func([]byte) []byte { return work.JSON() }},
			}, Load: Load{Connections: conns}}},
		},
		{
			Name:  "tls",
			Claim: `no claim: how much of the difference is left under TLS, on open connections, with a handshake for each request, and for uploads`,
			Cases: []Case{
				{Name: "keep-alive", Quick: true, Request: get("/"), Load: Load{Connections: conns}, Needs: Needs{TLS: true}},
				{Name: "handshakes", Quick: true, Request: get("/"), Load: Load{Connections: 16, NoKeepAlive: true, NoResumption: true}, Needs: Needs{TLS: true}},
				{Name: "upload-20m", Request: upload("/upload"), Load: Load{Connections: 4}, Needs: Needs{TLS: true, Stream: true}},
			},
		},
		{
			Name:  "files",
			Claim: `no claim: files of three sizes, from the system's cache`,
			Cases: files(),
		},
		{
			Name:  "blocking",
			Claim: `no claim: handlers that wait 1 ms, as for a database (Node, actix-web and hyper by timer)`,
			Cases: []Case{
				{Name: "64", Quick: true, Request: get("/sleep"), Load: Load{Connections: conns}},
				{Name: "512", Request: get("/sleep"), Load: Load{Connections: 512}},
			},
		},
		{
			Name:  "compress",
			Claim: `no claim: 21 kB of text encoded with gzip at level 6, where the encoder outweighs the server`,
			Cases: []Case{{Name: "gzip", Request: Request{
				Method: http.MethodGet, Path: "/compress", Fields: []string{"Accept-Encoding: gzip"},
				Want: Want{ContentType: work.PlainText, Body: text(string(work.Long)), Gzip: true},
			}, Load: Load{Connections: 16}}},
		},
		{
			Name:  "baseline-h2",
			Claim: `no claim: HTTP/2 over TLS, 16 streams on each connection`,
			Cases: []Case{{Name: "16", Quick: true, Request: get("/"), Load: Load{Connections: 16, HTTP2: true, Streams: 16}, Needs: Needs{TLS: true, HTTP2: true}}},
		},
		{
			Name:  "baseline-h2c",
			Claim: `no claim: HTTP/2 in the clear, 16 streams on each connection`,
			Cases: []Case{{Name: "16", Quick: true, Request: get("/"), Load: Load{Connections: 16, HTTP2: true, Streams: 16}, Needs: Needs{HTTP2: true}}},
		},
		{
			Name:  "proxy",
			Claim: `no claim: what a reverse proxy adds to a request, with the same server behind each`,
			Cases: []Case{{Name: "64", Quick: true, Request: get("/"), Load: Load{Connections: conns}, Needs: Needs{Proxy: true}}},
		},
		{
			Name:  "client",
			Claim: `"10 times faster", said of the client: the CPU time of a client's process per request, with the same server for each`,
			Kind:  Clients,
			Cases: []Case{{Name: "16", Quick: true, Request: get("/"), Load: Load{Connections: 16}}},
		},
		{
			Name:  "gobench",
			Claim: `"10 times faster", as fasthttp's own benchmarks show it: in memory, without a kernel between the two sides`,
			Kind:  GoBench,
			Cases: []Case{{Name: "Server", Quick: true}},
		},
		{
			Name:  "echo-ws",
			Claim: `no claim: messages of text over WebSockets, sent back; net/http with gorilla/websocket, fasthttp with fasthttp/websocket`,
			Cases: webSockets(),
		},
	}
}

// Fields of requests. 4 and 12 are those that proxies and clients of services add.
var requestFields = []string{
	"X-Request-Id: 0123456789abcdef0123456789abcdef",
	"X-Forwarded-For: 203.0.113.195, 198.51.100.178",
	"X-Tenant: 0123456789abcdef",
	"Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345",
	"Accept: application/json",
	"Accept-Language: en",
	"User-Agent: client/1.0",
	"X-Forwarded-Proto: https",
	"X-Real-Ip: 203.0.113.195",
	"X-Trace-Id: 4bf92f3577b34da6a3ce929d0e0e4736",
	"Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	"Cache-Control: no-cache",
}

var browserFields = []string{
	"Upgrade-Insecure-Requests: 1",
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
	"Sec-Fetch-Site: none",
	"Sec-Fetch-Mode: navigate",
	"Sec-Fetch-Dest: document",
	"Accept-Language: en-US,en;q=0.9,de;q=0.8",
	"Cache-Control: max-age=0",
	"Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; csrftoken=abcdefghijklmnopqrstuvwxyz",
}

func headers() []Case {
	answered := get("/fields")
	answered.Want.Fields = map[string]string{}
	for _, f := range work.Fields {
		answered.Want.Fields[f[0]] = f[1]
	}
	load := Load{Connections: conns}
	return []Case{
		{Name: "request-0", Quick: true, Request: get("/"), Load: load},
		{Name: "request-4", Quick: true, Request: get("/", requestFields[:4]...), Load: load},
		{Name: "request-12", Request: get("/", requestFields...), Load: load},
		{Name: "response-4", Quick: true, Request: answered, Load: load},
		{Name: "browser", Quick: true, Request: get("/", browserFields...), Load: load},
	}
}

func long() (cases []Case) {
	for _, n := range []int{200, 2000, 8000} {
		cases = append(cases, Case{Name: strconv.Itoa(n), Quick: n != 2000, Request: get("/"), Load: Load{Connections: n}})
	}
	return append(cases, Case{Name: "all", Request: get("/"), Load: Load{Connections: All}})
}

func rates() (cases []Case) {
	for _, n := range []int{1000, 5000, 10000, 20000} {
		cases = append(cases, Case{
			Name: strconv.Itoa(n), Quick: n == 5000 || n == 20000, Unpinned: n == 5000,
			Request: get("/"), Load: Load{Connections: conns, Rate: n},
		})
	}
	return cases
}

func bodies() (cases []Case) {
	for _, b := range []struct {
		name string
		n    int
	}{{"echo-1k", 1 << 10}, {"echo-64k", 64 << 10}, {"echo-1m", 1 << 20}} {
		cases = append(cases, Case{
			Name: b.name, Quick: b.n == 64<<10, Load: Load{Connections: 16},
			Request: post("/echo", b.n, Want{ContentType: work.Binary, Body: same}),
		})
	}
	return append(cases,
		Case{Name: "upload-20m", Quick: true, Request: upload("/upload"), Load: Load{Connections: 4}, Needs: Needs{Stream: true}},
		Case{Name: "collect-20m", Quick: true, Request: upload("/collect"), Load: Load{Connections: 4}},
	)
}

func webSockets() (cases []Case) {
	for _, m := range []struct {
		name            string
		bytes, pipeline int
		connections     int
		quick           bool
	}{{"64", 64, 1, conns, true}, {"64-pipelined", 64, 16, conns, true}, {"64-connections-512", 64, 1, 512, false}, {"16k", 16 << 10, 1, conns, true}} {
		r := Request{Method: http.MethodGet, Path: "/ws", Body: m.bytes, Want: Want{Body: same}}
		cases = append(cases, Case{Name: m.name, Quick: m.quick, Request: r, Load: Load{Connections: m.connections, Pipeline: m.pipeline, WebSocket: true}})
	}
	return cases
}

// upload is a request with a body of 20 MB, whose bytes are counted.
func upload(path string) Request {
	const n = 20 << 20
	return post(path, n, Want{ContentType: work.PlainText, Body: text(strconv.Itoa(n))})
}

func files() (cases []Case) {
	for _, f := range Files {
		r := get("/files/" + f.Name)
		r.Want.Body = func([]byte) []byte { return Payload(f.Size) }
		r.Want.Fields = map[string]string{"Last-Modified": "*"}
		cases = append(cases, Case{Name: f.Name, Quick: f.Size == 64<<10, Request: r, Load: Load{Connections: 16}, Needs: Needs{Files: true}})
	}
	return cases
}
