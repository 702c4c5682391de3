package gale_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// each has the wanted value for each bringer by its name, or by the first word of that. "" is for
// those without an entry.
type each map[string]string

func (e each) of(name string) string {
	first, _, _ := strings.Cut(name, " ")
	for _, key := range []string{name, first} {
		if s, ok := e[key]; ok {
			return s
		}
	}
	return e[""]
}

// readBody reads the body of the request.
func readBody(ctx *gale.RequestCtx) (string, error) {
	r := ctx.RequestBodyStream()
	if r == nil {
		return string(ctx.PostBody()), nil
	}
	b, err := io.ReadAll(r)
	return string(b), err
}

const rawAnswer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nraw"

// reaching has a row for each method of RequestCtx that uses the exchange: what it
// returns, and what the client gets.
var reaching = []struct {
	method string
	call   func(*gale.RequestCtx) any
	want   each // what call returns
	status each // of the response; 200 if nil
	body   each
	sign   each // the interim response
}{
	{method: "Conn", call: func(ctx *gale.RequestCtx) any { return ctx.Conn() != nil }, want: each{"": "true", "no exchange": "false"}},
	{method: "ConnID", call: func(ctx *gale.RequestCtx) any { return ctx.ConnID() != 0 }, want: each{"": "false", "h1": "true", "h2": "true", "toy": "true"}},
	{method: "ID", call: func(ctx *gale.RequestCtx) any { return ctx.ID() != 0 }, want: each{"": "false", "h1": "true", "h2": "true", "toy": "true"}},
	{method: "ConnTime", call: func(ctx *gale.RequestCtx) any { return ctx.ConnTime().IsZero() }, want: each{"": "false"}},
	{method: "IsTLS", call: func(ctx *gale.RequestCtx) any { return ctx.IsTLS() }, want: each{"": "false", "net/http h2": "true", "toy": "true"}},
	{method: "TLSConnectionState", call: func(ctx *gale.RequestCtx) any {
		if st := ctx.TLSConnectionState(); st != nil {
			return st.NegotiatedProtocol
		}
		return nil
	}, want: each{"": "<nil>", "net/http h2": "h2", "toy": "toy"}},
	{method: "RemoteAddr", call: func(ctx *gale.RequestCtx) any { return ctx.RemoteAddr().Network() }, want: each{"": "tcp"}},
	{method: "RemoteIP", call: func(ctx *gale.RequestCtx) any { return ctx.RemoteIP() },
		want: each{"": "127.0.0.1", "toy": "192.0.2.7", "recorder": "192.0.2.1", "no exchange": "192.0.2.9"}},
	{method: "ClientIP", call: func(ctx *gale.RequestCtx) any { return ctx.ClientIP() },
		want: each{"": "127.0.0.1", "toy": "192.0.2.7", "recorder": "192.0.2.1", "no exchange": "192.0.2.9"}},
	{method: "LocalAddr", call: func(ctx *gale.RequestCtx) any { return ctx.LocalAddr().Network() }, want: each{"": "tcp"}},
	{method: "LocalIP", call: func(ctx *gale.RequestCtx) any { return ctx.LocalIP() },
		want: each{"": "127.0.0.1", "toy": "192.0.2.7", "recorder": "0.0.0.0", "no exchange": "0.0.0.0"}},
	{method: "String", call: func(ctx *gale.RequestCtx) any { return strings.Contains(ctx.String(), ctx.RemoteAddr().String()) }, want: each{"": "true"}},
	{method: "SetReadDeadline", call: func(ctx *gale.RequestCtx) any { return ctx.SetReadDeadline(time.Now().Add(time.Hour)) },
		want: each{"": "<nil>", "no exchange": gale.ErrNilConnection.Error()}},
	{method: "SetWriteDeadline", call: func(ctx *gale.RequestCtx) any { return ctx.SetWriteDeadline(time.Now().Add(time.Hour)) },
		want: each{"": "<nil>", "no exchange": gale.ErrNilConnection.Error()}},
	{method: "Deadline", call: func(ctx *gale.RequestCtx) any { _, ok := ctx.Deadline(); return ok }, want: each{"": "false"}},
	{method: "Value", call: func(ctx *gale.RequestCtx) any { return ctx.Value(gale.ToyKey) },
		want: each{"": "of the connection", "recorder": "<nil>", "no exchange": "<nil>"}},
	{method: "Context", call: func(ctx *gale.RequestCtx) any { return ctx.Context().Err() }, want: each{"": "<nil>"}},
	{method: "Err", call: func(ctx *gale.RequestCtx) any { return ctx.Err() }, want: each{"": "<nil>"}},
	{method: "UserValue", call: func(ctx *gale.RequestCtx) any { return ctx.UserValue(gale.ToyKey) }, want: each{"": "<nil>"}},
	{method: "Flush", call: func(ctx *gale.RequestCtx) any {
		ctx.WriteString("a")
		defer ctx.WriteString("b")
		return ctx.Flush()
	}, want: each{"": "<nil>", "no exchange": gale.ErrNilConnection.Error()}, body: each{"": "ab"}},
	{method: "Fail", call: func(ctx *gale.RequestCtx) any { ctx.Fail(gale.StatusConflict, nil); return nil },
		want: each{"": "<nil>"}, status: each{"": "409"}, body: each{"": "Conflict"}},
	{method: "EarlyHints", call: func(ctx *gale.RequestCtx) any {
		ctx.Response.Header.Set("Link", "</a.css>")
		return ctx.EarlyHints()
	}, want: each{"": "<nil>"}, sign: each{"": "103 </a.css>", "net/http h2": "", "no exchange": ""}},
	{method: "SendInterim", call: func(ctx *gale.RequestCtx) any {
		var h gale.ResponseHeader
		h.Set("X-Sign", "soon")
		return ctx.SendInterim(gale.StatusProcessing, &h)
	}, want: each{"": "<nil>", "no exchange": gale.ErrNilConnection.Error()}, sign: each{"": "102 soon", "net/http h2": "", "no exchange": ""}},
	{method: "Hijack", call: func(ctx *gale.RequestCtx) any {
		readBody(ctx) // a client that is still sending the body may miss the answer
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(c net.Conn) { io.WriteString(c, rawAnswer) })
		return ctx.Hijacked()
	}, want: each{"": "true"}, status: each{"": "200", "net/http h2": "500", "h2": "501", "toy": "501"}, body: each{"": "", "h1 block": "raw", "h1 event": "raw", "net/http": "raw", "net/http h2": "Internal Server Error\n", "h2": "Not Implemented", "toy": "Not Implemented"}},
	{method: "HijackCounted", call: func(ctx *gale.RequestCtx) any {
		readBody(ctx)
		ctx.HijackSetNoResponse(true)
		ctx.HijackCounted(func(c net.Conn) { io.WriteString(c, rawAnswer) }, nil)
		return ctx.Hijacked()
	}, want: each{"": "true"}, status: each{"": "200", "net/http h2": "500", "h2": "501", "toy": "501"}, body: each{"": "", "h1 block": "raw", "h1 event": "raw", "net/http": "raw", "net/http h2": "Internal Server Error\n", "h2": "Not Implemented", "toy": "Not Implemented"}},
	{method: "HijackNow", call: func(ctx *gale.RequestCtx) any {
		readBody(ctx)
		c, err := ctx.HijackNow()
		if err == nil {
			defer c.Close()
			io.WriteString(c, rawAnswer)
		}
		if errors.Is(err, errors.ErrUnsupported) {
			return errors.ErrUnsupported
		}
		return err
	}, want: each{"": "<nil>", "net/http h2": errors.ErrUnsupported.Error(), "h2": errors.ErrUnsupported.Error(), "toy": errors.ErrUnsupported.Error(),
		"recorder": gale.ErrNilConnection.Error(), "no exchange": gale.ErrNilConnection.Error()},
		body: each{"": "", "h1 block": "raw", "h1 event": "raw", "net/http": "raw", "net/http h2": ""}},
	{method: "LimitRequestBody", call: func(ctx *gale.RequestCtx) any {
		ctx.LimitRequestBody(2)
		_, err := readBody(ctx)
		return err
	}, want: each{"": gale.ErrBodyTooLarge.Error(), "recorder": "<nil>", "no exchange": "<nil>"}},
	{method: "CloseRequestBody", call: func(ctx *gale.RequestCtx) any {
		ctx.CloseRequestBody()
		_, err := readBody(ctx)
		return err != nil
	}, want: each{"": "true", "recorder": "false", "no exchange": "false"}},
	{method: "PeekTrailer", call: func(ctx *gale.RequestCtx) any {
		early := string(ctx.PeekTrailer("X-Trailer"))
		body, err := readBody(ctx)
		return fmt.Sprintf("%s %s %v %s", early, body, err, ctx.PeekTrailer("X-Trailer"))
	}, want: each{"": " body <nil> t", "recorder": " body <nil> ", "no exchange": " body <nil> "}},
	{method: "Trailers", call: func(ctx *gale.RequestCtx) any {
		readBody(ctx)
		s := ""
		for k, v := range ctx.Trailers() {
			s += string(k) + "=" + string(v)
		}
		return s
	}, want: each{"": "X-Trailer=t", "recorder": "", "no exchange": ""}},
	{method: "TimeoutError", call: func(ctx *gale.RequestCtx) any { // and what is refused after it
		ctx.TimeoutError("late")
		_, err := ctx.HijackNow()
		for _, e := range []error{ctx.Flush(), ctx.SendInterim(gale.StatusProcessing, nil)} {
			if e != gale.ErrNilConnection {
				return e
			}
		}
		for _, e := range []error{ctx.SetReadDeadline(time.Now()), ctx.SetWriteDeadline(time.Now())} {
			if e != gale.ErrDeadlineUpdatesDisabled {
				return e
			}
		}
		return err
	}, want: each{"": gale.ErrNilConnection.Error()}, status: each{"": "408"}, body: each{"": "late"}},
}

// TestEveryBringer proves that each method that uses the exchange works whatever brought
// the request, or returns an error that says why not.
func TestEveryBringer(t *testing.T) {
	for _, b := range bringers {
		for _, row := range reaching {
			t.Run(b.name+"/"+row.method, func(t *testing.T) {
				got := make(chan string, 1)
				a := b.serve(t, func(ctx *gale.RequestCtx) { got <- fmt.Sprint(row.call(ctx)) })
				if returned, want := <-got, row.want.of(b.name); returned != want {
					t.Errorf("%s returned %q, want %q", row.method, returned, want)
				}
				status := row.status.of(b.name)
				if status == "" {
					status = "200"
				}
				if got := fmt.Sprint(a.status); got != status || a.body != row.body.of(b.name) {
					t.Errorf("the answer is %s %q, want %s %q", got, a.body, status, row.body.of(b.name))
				}
				if got := strings.Join(a.interim, ", "); got != row.sign.of(b.name) {
					t.Errorf("the interim responses are %q, want %q", got, row.sign.of(b.name))
				}
			})
		}
	}
}

// badReader is a stream that can't be read.
type badReader struct{}

func (badReader) Read([]byte) (int, error) { return 0, errors.New("of the test") }

// TestEveryBringerEnds proves that Done is open while the handler runs and closed when it
// has returned, also for a context that is left to other goroutines.
func TestEveryBringerEnds(t *testing.T) {
	for _, b := range bringers {
		if b.name == "no exchange" {
			continue // no end is known
		}
		contexts := make(chan context.Context, 3)
		b.serve(t, func(ctx *gale.RequestCtx) {
			derived, cancel := context.WithCancel(ctx)
			context.AfterFunc(derived, cancel)
			select {
			case <-ctx.Done():
				t.Errorf("%s: Done is closed while the handler runs: %v", b.name, context.Cause(ctx))
			default:
			}
			contexts <- ctx
			contexts <- derived
			contexts <- ctx.Context()
		})
		<-(<-contexts).Done()
		<-(<-contexts).Done()
		if err := context.Cause(<-contexts); err != gale.ErrRequestDone {
			t.Errorf("%s: the cause is %v, want ErrRequestDone", b.name, err)
		}
	}
}

// TestReachingMethodsHaveRows proves that each exported method of RequestCtx that uses
// the exchange, directly or through other methods, has a row in the table above.
func TestReachingMethodsHaveRows(t *testing.T) {
	calls := make(map[string][]string) // a method of RequestCtx, and the names in it
	for _, f := range sources(t, "*.go") {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && isOfCtx(fn) {
				calls[fn.Name.Name] = namedOf(fn, fn.Recv.List[0].Names[0].Name)
			}
		}
	}
	reaches := map[string]bool{"x": true}
	for n := 0; n != len(reaches); {
		n = len(reaches)
		for name, named := range calls {
			if slices.ContainsFunc(named, func(s string) bool { return reaches[s] }) {
				reaches[name] = true
			}
		}
	}
	covered := map[string]bool{
		"Init": true, "Init2": true, // begin an exchange
		"Done":    true, // TestEveryBringerEnds
		"Detach":  true, // ctx_test.go, tests/server, and adaptor
		"Upgrade": true, // tests/server
	}
	for _, row := range reaching {
		covered[row.method] = true
	}
	for name := range reaches {
		if ast.IsExported(name) && !covered[name] {
			t.Errorf("RequestCtx.%s asks the exchange: add a row to the table", name)
		}
	}
	if !reaches["Flush"] || !reaches["RemoteIP"] || reaches["SetBody"] {
		t.Error("the search is broken")
	}
}

// sources parses the files of the package whose names match pattern, except tests.
func sources(t *testing.T, pattern string) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]*ast.File)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// isOfCtx reports whether fn is a method of RequestCtx.
func isOfCtx(fn *ast.FuncDecl) bool {
	if fn.Recv == nil || len(fn.Recv.List[0].Names) == 0 {
		return false
	}
	star, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	id, ok := star.X.(*ast.Ident)
	return ok && id.Name == "RequestCtx"
}

// namedOf returns the fields and methods of the variable called recv in fn.
func namedOf(fn *ast.FuncDecl, recv string) (names []string) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == recv {
				names = append(names, sel.Sel.Name)
			}
		}
		return true
	})
	return names
}

// The files of RequestCtx, and others that are for every exchange, name none, and don't write HTTP/1.
func TestContextKnowsNoProtocol(t *testing.T) {
	files := sources(t, "ctx*.go")
	maps.Copy(files, sources(t, "server_panic.go"))
	maps.Copy(files, sources(t, "server_upgrade_pump.go"))
	for file, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if n.Name == "h1Session" || n.Name == "h1Message" || n.Name == "h2Stream" || n.Name == "h2Session" {
					t.Errorf("%s names %s", file, n.Name)
				}
			case *ast.BasicLit:
				if strings.Contains(n.Value, "HTTP/1") {
					t.Errorf("%s has the text %s", file, n.Value)
				}
			case *ast.SelectorExpr:
				if id, ok := n.X.(*ast.Ident); ok && (id.Name == "h1" || id.Name == "h2") {
					t.Errorf("%s uses %s.%s", file, id.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
}
