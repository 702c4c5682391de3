package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/ws"
)

// serveBench serves h on ln until the test ends.
func serveBench(t *testing.T, ln net.Listener, engine gale.Engine, h gale.RequestHandler) {
	t.Helper()
	s := &gale.Server{Handler: h, Engine: engine, Name: "bench-test", Slog: slog.New(slog.DiscardHandler), HTTP2: gale.HTTP2Config{H2C: true}}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		_ = s.Close()
		_ = ln.Close() // Serve may not have begun yet, and would begin after Close
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// benchServerURL serves h on a port of the kernel's choice.
func benchServerURL(t *testing.T, engine gale.Engine, h gale.RequestHandler) string {
	t.Helper()
	ln := listenBench(t, "tcp", "127.0.0.1:0")
	serveBench(t, ln, engine, h)
	return "http://" + ln.Addr().String()
}

func listenBench(t *testing.T, network, address string) net.Listener {
	t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// benchRun runs "gale bench" with --json - and returns the document, which must be all of
// the standard output, and the standard error.
func benchRun(t *testing.T, args ...string) (doc *figures.Run, code int, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(append([]string{"bench", "--json", "-"}, args...), &out, &errs)
	dec := json.NewDecoder(&out)
	doc = &figures.Run{}
	if err := dec.Decode(doc); err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, errs.String())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		t.Errorf("more than one document")
	}
	if code != doc.Verdict.ExitCode() {
		t.Errorf("exit code %d, but the verdict is %q", code, doc.Verdict.Limit)
	}
	return doc, code, errs.String()
}

// received counts what a server receives.
type received struct {
	mu    sync.Mutex
	count map[string]int
}

// add counts a request.
func (r *received) add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count = map[string]int{}
	}
	r.count[text]++
}

// A run sends exactly the number of requests, each as it was asked for.
func TestBenchCount(t *testing.T) {
	for _, engine := range []gale.Engine{gale.EngineBlock, gale.EngineAuto} {
		for _, args := range [][]string{
			{"-n", "1"},
			{"-n", "1000", "-c", "7"},
			{"-n", "1000", "-c", "4", "--pipeline", "8"},
			{"-n", "100", "-c", "4", "--no-keepalive"},
			{"-n", "100", "-c", "4", "--requests-per-conn", "3"},
			{"-n", "100", "-c", "4", "--rate", "2000"},
			{"-n", "50", "-c", "2", "--think", "1ms"},
		} {
			t.Run(engine.String()+" "+strings.Join(args, " "), func(t *testing.T) {
				var got received
				url := benchServerURL(t, engine, func(ctx *gale.RequestCtx) {
					got.add(string(ctx.Method()) + " " + string(ctx.RequestURI()) + " " + string(ctx.Host()) + " " + string(ctx.UserAgent()))
					ctx.SetBodyString("hello")
				})
				doc, _, stderr := benchRun(t, append(args, url+"/a?b=c", "--name", "first")...)
				want, _ := strconv.ParseInt(args[1], 10, 64)
				wanted := "GET /a?b=c " + strings.TrimPrefix(url, "http://") + " " + toolName()
				if len(got.count) != 1 || int64(got.count[wanted]) != want {
					t.Errorf("the server received %v, want %d of %q", got.count, want, wanted)
				}
				if r := doc.Requests; r.Sent != want || r.Good != want || doc.Statuses["200"] != want || doc.Latency.Count != want {
					t.Errorf("%+v, statuses %v, %d latencies", r, doc.Statuses, doc.Latency.Count)
				}
				if doc.Name != "first" || doc.Tool != toolName() || !doc.Settings.Local || doc.RequestsPerSecond <= 0 ||
					doc.Targets[0].Method != "GET" || doc.Targets[0].URL != url+"/a?b=c" {
					t.Errorf("name %q, tool %q, settings %+v, %v requests/s, targets %+v", doc.Name, doc.Tool, doc.Settings, doc.RequestsPerSecond, doc.Targets)
				}
				if !strings.Contains(stderr, "requests/s") {
					t.Errorf("no table on the standard error: %q", stderr)
				}
			})
		}
	}
}

// All requests of a counted open loop are sent, also if the server is too slow for the
// rate.
func TestBenchCountLate(t *testing.T) {
	var got received
	url := benchServerURL(t, gale.EngineAuto, func(*gale.RequestCtx) {
		got.add("")
		time.Sleep(3 * time.Millisecond) // 60 times as long as the rate allows
	})
	doc, _, _ := benchRun(t, url, "-n", "20", "-c", "1", "--rate", "20000")
	if got.count[""] != 20 || doc.Requests.Good != 20 || doc.Latency.Count != 20 {
		t.Errorf("received %v, %+v", got.count, doc.Requests)
	}
}

// The rows of a CSV file, fields, cookies, bodies and weights reach the server.
func TestBenchRequests(t *testing.T) {
	dir := t.TempDir()
	data, body := filepath.Join(dir, "data.csv"), filepath.Join(dir, "body")
	for name, text := range map[string]string{data: "user,id\nann,1\nbob b,22\n", body: "id {{id}}"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		args []string
		path string
		want map[string]int
	}{
		{"data", []string{"-n", "10", "--data", data, "-H", "X-Id: {{id}}", "--cookie", "u={{id}}", "--body-file", body}, "/{{user}}?q={{user}}", map[string]int{
			"POST /ann?q=ann id=1 cookie=u=1 type=application/octet-stream id 1":            5,
			"POST /bob%20b?q=bob%20b id=22 cookie=u=22 type=application/octet-stream id 22": 5,
		}},
		{"method and type", []string{"-n", "2", "-X", "PUT", "-H", "Content-Type: text/plain", "--body", "x"}, "/", map[string]int{
			"PUT / id= cookie= type=text/plain x": 2,
		}},
		{"head", []string{"-n", "2", "-X", "HEAD"}, "/", map[string]int{"HEAD / id= cookie= type= ": 2}},
		{"weights", []string{"-n", "8", "--url", "URL/b weight=3"}, "/a", map[string]int{
			"GET /a id= cookie= type= ": 2, "GET /b id= cookie= type= ": 6,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got received
			url := benchServerURL(t, gale.EngineAuto, func(ctx *gale.RequestCtx) {
				h := &ctx.Request.Header
				got.add(string(ctx.Method()) + " " + string(ctx.RequestURI()) + " id=" + string(h.Peek("X-Id")) +
					" cookie=" + string(h.Peek("Cookie")) + " type=" + string(h.ContentType()) + " " + string(ctx.PostBody()))
			})
			args := []string{url + c.path, "-c", "2", "-t", "1"}
			for _, arg := range c.args {
				args = append(args, strings.ReplaceAll(arg, "URL", url))
			}
			benchRun(t, args...)
			for request, n := range c.want {
				if got.count[request] != n {
					t.Errorf("%d of %q, want %d", got.count[request], request, n)
				}
			}
			if len(got.count) != len(c.want) {
				t.Errorf("received %v", got.count)
			}
		})
	}
}

// The server reads the form that was asked for.
func TestBenchForm(t *testing.T) {
	file := filepath.Join(t.TempDir(), "photo.bin")
	if err := os.WriteFile(file, []byte("\x00\r\n--"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got received
	url := benchServerURL(t, gale.EngineAuto, func(ctx *gale.RequestCtx) {
		form, err := ctx.MultipartForm()
		if err != nil {
			got.add(err.Error())
			return
		}
		f, err := form.File["file"][0].Open()
		if err != nil {
			got.add(err.Error())
			return
		}
		defer f.Close()
		text, _ := io.ReadAll(f)
		got.add(form.Value["name"][0] + " " + form.File["file"][0].Filename + " " + string(text))
	})
	benchRun(t, url, "-n", "5", "-c", "1", "--form", "name=ann b", "--form", "file=@"+file)
	if got.count["ann b photo.bin \x00\r\n--"] != 5 {
		t.Errorf("received %v", got.count)
	}
}

// Responses that aren't as expected are told by kind. If none is, the exit code is 6.
func TestBenchExpectations(t *testing.T) {
	var n atomic.Int64
	url := benchServerURL(t, gale.EngineAuto, func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) == "/half" && n.Add(1)%2 == 0 {
			ctx.SetStatusCode(503)
		}
		ctx.SetBodyString("all fine")
	})
	doc, _, _ := benchRun(t, url+"/half", "-n", "10", "-c", "1")
	if r := doc.Requests; r.Good != 5 || r.Unexpected != 5 || len(doc.Errors) != 1 || doc.Errors[0].Kind != "status" || doc.Errors[0].Count != 5 {
		t.Errorf("%+v, errors %+v", r, doc.Errors)
	}
	for expect, good := range map[string]bool{
		"body~fine$": true, "body=all fine": true, "status=2xx": true, "header:Server=bench-test": true,
		"body~^fine": false, "body=all": false, "status=404": false, "header:Server~nginx": false,
	} {
		doc, code, _ := benchRun(t, url, "-n", "10", "-c", "2", "--expect", expect)
		if good != (doc.Requests.Good == 10) || good == (code == 6) || !good && doc.Requests.Unexpected != 10 {
			t.Errorf("%s: exit code %d, %+v, errors %+v", expect, code, doc.Requests, doc.Errors)
		}
	}
}

func TestBenchUNIX(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	var got received
	serveBench(t, listenBench(t, "unix", path), gale.EngineAuto, func(ctx *gale.RequestCtx) { got.add(string(ctx.Host()) + string(ctx.Path())) })
	doc, _, _ := benchRun(t, "http://site.example/x", "--unix", path, "-n", "10", "-c", "2")
	if got.count["site.example/x"] != 10 || doc.Requests.Good != 10 || !doc.Settings.Local {
		t.Errorf("received %v, %+v", got.count, doc.Requests)
	}
}

// A client's certificate is shown, the server's is checked, and sessions are resumed.
func TestBenchTLS(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	pairs := map[string]tls.Certificate{}
	for name, host := range map[string]string{"server": "127.0.0.1", "client": "ann"} {
		cert, key, err := gale.GenerateTestCertificate(host)
		if err != nil {
			t.Fatal(err)
		}
		for kind, text := range map[string][]byte{"-cert": cert, "-key": key} {
			files[name+kind] = filepath.Join(dir, name+kind)
			if err := os.WriteFile(files[name+kind], text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if pairs[name], err = tls.X509KeyPair(cert, key); err != nil {
			t.Fatal(err)
		}
	}
	var got received
	ln := tls.NewListener(listenBench(t, "tcp", "127.0.0.1:0"), &tls.Config{
		Certificates: []tls.Certificate{pairs["server"]}, ClientAuth: tls.RequireAnyClientCert,
	})
	serveBench(t, ln, gale.EngineAuto, func(ctx *gale.RequestCtx) {
		state := ctx.TLSConnectionState()
		got.add(state.PeerCertificates[0].Subject.Organization[0] + " " + tls.VersionName(state.Version))
	})
	url := "https://" + ln.Addr().String()
	certs := []string{"-n", "10", "-c", "1", "--cert", files["client-cert"], "--key", files["client-key"]}

	doc, _, _ := benchRun(t, append(certs, url, "--cacert", files["server-cert"], "--requests-per-conn", "1")...)
	if got.count["Gale test certificate TLS 1.3"] != 10 || doc.Requests.Good != 10 || !doc.Settings.TLS || doc.Connections.TLS.Count == 0 || doc.Connections.Resumed == 0 {
		t.Errorf("received %v, %+v, %+v", got.count, doc.Requests, doc.Connections)
	}
	doc, _, _ = benchRun(t, append(certs, url, "--insecure", "--tls-max", "1.2", "--no-resumption", "--requests-per-conn", "1")...)
	if got.count["Gale test certificate TLS 1.2"] != 10 || doc.Connections.Resumed != 0 {
		t.Errorf("received %v, %+v", got.count, doc.Connections)
	}
	// On a slow machine progress would come before the error.
	checkMisuse(t, append([]string{"bench", "-q", url}, certs...), "--cacert")
	checkMisuse(t, append([]string{"bench", "-q", url, "--http2", "--insecure"}, certs...), "--http2 out")
	plain := benchServerURL(t, gale.EngineAuto, func(*gale.RequestCtx) {})
	checkMisuse(t, []string{"bench", "-q", strings.Replace(plain, "http", "https", 1)}, "doesn't speak TLS")
}

// All results are written, and belong together.
func TestBenchResults(t *testing.T) {
	url := benchServerURL(t, gale.EngineAuto, func(*gale.RequestCtx) {})
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Symlink("other.json", file("a.json")); err != nil {
		t.Log(err) // then it is a file of its own
	}
	var stdout, stderr bytes.Buffer
	code := run([]string{"bench", url, "-n", "100", "-c", "2", "--json", file("a.json"), "--csv", file("a.csv"), "--report", file("a.html")}, &stdout, &stderr)
	doc, err := figures.ReadFile(file("a.json"))
	if err != nil || doc.Requests.Good != 100 || code != doc.Verdict.ExitCode() {
		t.Fatalf("exit code %d, %v, %+v: %s", code, err, doc, stderr.String())
	}
	if !strings.Contains(stdout.String(), "requests/s") || strings.Contains(stdout.String(), "{") {
		t.Errorf("the standard output has %q", stdout.String())
	}
	page, err := os.ReadFile(file("a.html"))
	if err != nil || !bytes.Contains(page, []byte("</html>")) {
		t.Errorf("the report has %d bytes, %v", len(page), err)
	}
	text, err := os.Open(file("a.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	if rows, err := csv.NewReader(text).ReadAll(); err != nil || len(rows) != 1+len(doc.Intervals) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// With -q nothing is printed, and the CSV may go to the standard output.
func TestBenchQuiet(t *testing.T) {
	url := benchServerURL(t, gale.EngineAuto, func(*gale.RequestCtx) {})
	var stdout, stderr bytes.Buffer
	run([]string{"bench", "-q", url, "-n", "10", "-c", "1", "--csv", "-"}, &stdout, &stderr)
	if stderr.Len() > 0 || !strings.HasPrefix(stdout.String(), "at_s,") {
		t.Errorf("standard output %q, standard error %q", stdout.String(), stderr.String())
	}
}

// A result that can't be written is told after the others, with exit code 1.
func TestBenchWriteFails(t *testing.T) {
	dir := t.TempDir()
	var table bytes.Buffer
	out := (&benchConfig{json: filepath.Join(dir, "none", "a.json"), csv: filepath.Join(dir, "a.csv")}).results(&table, io.Discard)
	doc := &figures.Run{Verdict: figures.Verdict{Limit: figures.LimitServer}}
	err := out.write(doc)
	if err == nil || !strings.Contains(err.Error(), "--json: can't write") || errors.As(err, new(*usageError)) {
		t.Errorf("error %v", err)
	}
	if table.Len() == 0 {
		t.Error("no table")
	}
	if _, err := os.Stat(filepath.Join(dir, "a.csv")); err != nil {
		t.Error(err)
	}
}

// A folder that takes no files is found out before the run.
func TestBenchCannotWrite(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.json")
	if err := canWrite(file); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err == nil {
		t.Skip("this user may write everywhere")
	}
	checkMisuse(t, []string{"bench", "http://127.0.0.1:1/", "--json", file}, "use another folder")
}

// Each verdict has its exit code.
func TestBenchExitCodes(t *testing.T) {
	for limit, want := range map[figures.Limit]int{
		figures.LimitNone: 0, figures.LimitServer: 0, figures.LimitGenerator: 3, figures.LimitShared: 3,
		figures.LimitRate: 4, figures.LimitNoise: 5, figures.LimitErrors: 6,
	} {
		err := verdictError(&figures.Run{Verdict: figures.Verdict{Limit: limit}})
		var code exitCode
		if errors.As(err, &code); int(code) != want || (err == nil) != (want == 0) {
			t.Errorf("%s: %v, want %d", limit, err, want)
		}
	}
}

// The first signal ends a run with its results, the second one without.
func TestBenchInterrupt(t *testing.T) {
	for _, c := range []struct {
		name  string
		first bool // there is a first signal; else both come at once
	}{{"once", true}, {"twice", false}} {
		t.Run(c.name, func(t *testing.T) {
			soon, endSoon := context.WithCancel(t.Context())
			now, endNow := context.WithCancel(t.Context())
			var n atomic.Int64
			url := benchServerURL(t, gale.EngineAuto, func(*gale.RequestCtx) {
				if n.Add(1) != 20 {
					return
				}
				if c.first {
					endSoon()
				} else {
					endNow()
				}
			})
			args := []string{url, "-d", "1h", "-c", "2"}
			cfg, err := parseBenchFlags(args)
			if err != nil {
				t.Fatal(err)
			}
			b, err := newBench(cfg, args)
			if err != nil {
				t.Fatal(err)
			}
			var table bytes.Buffer
			err = b.run(ending{soon, now, nil}, cfg.results(&table, io.Discard))
			text := strings.Join(strings.Fields(table.String()), " ")
			switch {
			case !c.first && !errors.Is(err, errEnded):
				t.Errorf("error %v", err)
			case c.first && err != nil && !errors.As(err, new(exitCode)):
				t.Errorf("error %v", err)
			case c.first != strings.Contains(text, "ended early"), c.first != strings.Contains(text, "requests/s"):
				t.Errorf("table:\n%s", table.String())
			}
		})
	}
}

// Signals end what they must, in turns.
func TestBenchSignals(t *testing.T) {
	signals := make(chan os.Signal)
	end := listenForEnd(signals)
	defer end.stop()
	signals <- os.Interrupt
	<-end.soon.Done()
	signals <- os.Interrupt // at the same time: not a second one
	if end.now.Err() != nil {
		t.Error("the first signal ends the run at once")
	}
	for {
		select {
		case signals <- os.Interrupt:
		case <-end.now.Done():
			return
		}
	}
}

// HTTP/2 is spoken with prior knowledge and by ALPN, with several requests in flight.
// A server without HTTP/2 is found out before the run, also without TLS.
func TestBenchNoHTTP2(t *testing.T) {
	ln := listenBench(t, "tcp", "127.0.0.1:0")
	s := &gale.Server{Handler: func(*gale.RequestCtx) {}, Slog: slog.New(slog.DiscardHandler)}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		_ = s.Close()
		_ = ln.Close() // Serve may not have begun yet, and would begin after Close
		<-done
	})
	checkMisuse(t, []string{"bench", ln.Addr().String(), "--http2", "-n", "1"}, "doesn't offer HTTP/2: leave --http2 out")
}

func TestBenchHTTP2(t *testing.T) {
	certPEM, keyPEM, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			var got received
			ln := listenBench(t, "tcp", "127.0.0.1:0")
			url := scheme + "://" + ln.Addr().String()
			if scheme == "https" {
				ln = tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}})
			}
			serveBench(t, ln, gale.EngineAuto, func(ctx *gale.RequestCtx) {
				got.add(string(ctx.Request.Header.Protocol()) + " " + string(ctx.Method()) + " " + string(ctx.RequestURI()) + " " +
					string(ctx.Host()) + " " + string(ctx.PostBody()))
			})
			args := []string{url + "/a?b", "--http2", "--streams", "4", "-n", "100", "-c", "2", "--body", "hello"}
			if scheme == "https" {
				args = append(args, "--insecure")
			}
			doc, _, _ := benchRun(t, args...)
			_, host, _ := strings.Cut(url, "://")
			if got.count["HTTP/2.0 POST /a?b "+host+" hello"] != 100 || doc.Requests.Good != 100 || doc.Settings.Protocol != "HTTP/2" || doc.Settings.Streams != 4 {
				t.Errorf("received %v, %+v, errors %+v", got.count, doc.Requests, doc.Errors)
			}
		})
	}
}

// wsEcho sends messages back.
type wsEcho struct{ ws.Base }

func (wsEcho) OnMessage(s *ws.Socket, t ws.MessageType, data []byte) { _ = s.Write(t, data) }

// A ws or wss URL measures echoes of package ws: each message of the file comes back, the
// handshake has the fields, and a server without WebSocket is told.
func TestBenchWebSocket(t *testing.T) {
	var wrong atomic.Int64
	h := func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) != "/echo" || string(ctx.Request.Header.Peek("X-Token")) != "a" {
			wrong.Add(1)
			return
		}
		_ = ws.Serve(ctx, wsEcho{}, nil)
	}
	rows := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(rows, []byte("name\nann\nbob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		for _, args := range [][]string{
			{"-n", "500"},
			{"-n", "500", "--pipeline", "8", "--requests-per-conn", "20"},
			{"-n", "200", "--rate", "2000"},
			{"-n", "200", "--data", rows, "--body", "hello {{name}}"},
		} {
			url := "ws" + strings.TrimPrefix(benchServerURL(t, engine, h), "http") + "/echo"
			doc, _, stderr := benchRun(t, append([]string{url, "-H", "X-Token: a"}, args...)...)
			if want, _ := strconv.Atoi(args[1]); doc.Requests.Good != int64(want) || len(doc.Errors) > 0 {
				t.Errorf("%q: %+v, errors %v: %s", args, doc.Requests, doc.Errors, stderr)
			}
			if doc.Settings.Protocol != "WebSocket" || len(doc.Statuses) > 0 || doc.Targets[0].Method != "GET" || doc.Targets[0].URL != url {
				t.Errorf("settings %+v, statuses %v, targets %+v", doc.Settings, doc.Statuses, doc.Targets)
			}
		}
	}
	if wrong.Load() > 0 {
		t.Errorf("%d handshakes without the path or the field", wrong.Load())
	}
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	ln := tls.NewListener(listenBench(t, "tcp", "127.0.0.1:0"), &tls.Config{Certificates: []tls.Certificate{pair}})
	serveBench(t, ln, gale.EngineAuto, h)
	secure := "wss://" + ln.Addr().String() + "/echo"
	if doc, _, stderr := benchRun(t, secure, "-H", "X-Token: a", "-n", "100", "--insecure"); doc.Requests.Good != 100 || !doc.Settings.TLS {
		t.Errorf("wss: %+v, errors %v: %s", doc.Requests, doc.Errors, stderr)
	}
	url := "ws" + strings.TrimPrefix(benchServerURL(t, gale.EngineEvent, h), "http")
	checkMisuse(t, []string{"bench", "wss" + strings.TrimPrefix(url, "ws"), "--insecure"}, "use ws://")
	checkMisuse(t, []string{"bench", url}, "doesn't open a WebSocket: the server answered the handshake with status 200: check the path")
}
