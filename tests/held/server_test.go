//go:build !race

package held

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/ws"
)

func engines() []gale.Engine {
	if runtime.GOOS != "linux" {
		return []gale.Engine{gale.EngineBlock}
	}
	return []gale.Engine{gale.EngineBlock, gale.EngineEvent}
}

// serverRow is something that a server holds.
type serverRow struct {
	name  string
	set   func(s *gale.Server)
	sends func(n int) string // what a client sends: about n bytes
	sizes []int
	// handle is called by the handler, which then waits. Without it, no handler begins.
	handle func(ctx *gale.RequestCtx)
	// ping is what the client sends at last, if not "": it waits for an answer with the same data.
	ping string
	bound
}

// over ends when the test does.
var over chan struct{}

// What is held besides what was sent.
const (
	own        = 20 << 10     // of a connection with a request: its context, a buffer
	stream     = 24 << 10     // of a connection of HTTP/2 with a request
	arguments  = 10_000 * 32  // docs/reference/limits.md: 10,000 arguments; for each its place in the list
	partFields = 10_000 * 250 // docs/reference/limits.md: 10,000 header fields of all parts; for each its place in a map
	bodyFactor = 8            // docs/reference/limits.md: memory of a body that is being collected
)

func small(ctx *gale.RequestCtx) {}

// streamed makes a server stream bodies.
func streamed(s *gale.Server) { s.StreamRequestBody = true }

// raised makes limits of heads large, so that what is held can be seen well.
func raised(s *gale.Server) { s.MaxHeaderBytes, s.MaxHeaderFields = 1<<20, 1<<20 }

// webSockets makes a server serve WebSockets.
func webSockets(h ws.Handler, o *ws.Options) func(s *gale.Server) {
	return func(s *gale.Server) { s.Handler = func(ctx *gale.RequestCtx) { _ = ws.Serve(ctx, h, o) } }
}

// slow is a WebSocket whose messages are handled until the end of the test.
type slow struct{ ws.Base }

func (slow) OnMessage(*ws.Socket, ws.MessageType, []byte) { <-over }

func serverRows() []serverRow {
	get := "GET / HTTP/1.1\r\nHost: h\r\n"
	post := "POST / HTTP/1.1\r\nHost: h\r\n"
	chunked := post + "Transfer-Encoding: chunked\r\n\r\n"
	length := func(s string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(s), s) }
	form := func(f func(i int) string) func(n int) string {
		return func(n int) string {
			return post + "Content-Type: application/x-www-form-urlencoded\r\n" + length(many(n, f))
		}
	}
	multipart := func(part func(i int) string) func(n int) string {
		return func(n int) string {
			return post + "Content-Type: multipart/form-data; boundary=b\r\n" + length(many(n, func(i int) string { return "--b\r\n" + part(i) + "\r\n" })+"--b--\r\n")
		}
	}
	readForm := func(ctx *gale.RequestCtx) { _, _ = ctx.MultipartForm() }
	query := func(ctx *gale.RequestCtx) { ctx.QueryArgs().Has("x") }
	h2 := func(parts ...func(n int) string) func(n int) string {
		return func(n int) string {
			s := preface + frame(typeSettings, 0, 0, "")
			for _, p := range parts {
				s += p(n)
			}
			return s
		}
	}
	text := func(s string) func(int) string { return func(int) string { return s } }
	h2Post := text(block(1, 0, postHead))
	h2Stuck := text(block(1, endStream, getHead))
	return []serverRow{
		{name: "nothing", sends: text(""), sizes: []int{0}, bound: bound{0, 4 << 10, 0}},
		{name: "head, a long target", sends: func(n int) string { return "GET /" + strings.Repeat("a", n) }, sizes: []int{100, 15_000}, bound: bound{2, 4 << 10, .9}},
		{name: "head, a long field", sends: func(n int) string { return get + "X: " + strings.Repeat("a", n) }, sizes: []int{100, 60_000}, bound: bound{2, 4 << 10, .9}},
		{name: "head, many fields", sends: func(n int) string { return get + again(n, "a:b\r\n") }, sizes: []int{100, 2500}, bound: bound{2, 4 << 10, .9}},
		{name: "head, many fields, limits raised", set: raised, sends: func(n int) string { return get + again(n, "a:\r\n") }, sizes: []int{100_000}, bound: bound{7, 4 << 10, .9}},
		{name: "head of many fields", handle: small, sends: func(n int) string { return get + again(n, "a:b\r\n") + "\r\n" }, sizes: []int{100, 2500}, bound: bound{8, own, 1}},
		{name: "head of many fields, limits raised", set: raised, handle: small, sends: func(n int) string { return get + again(n, "a:\r\n") + "\r\n" }, sizes: []int{100_000}, bound: bound{8, own, .9}},
		{name: "a long field", handle: small, sends: func(n int) string { return get + "X: " + strings.Repeat("a", n) + "\r\n\r\n" }, sizes: []int{60_000}, bound: bound{3, own, .9}},
		{name: "Trailer", handle: small, sends: func(n int) string {
			return get + "Trailer: " + many(n, func(i int) string { return fmt.Sprint("a", i, ",") }) + "b\r\n\r\n"
		}, sizes: []int{100, 60_000}, bound: bound{3, own, .9}},
		{name: "cookies", handle: func(ctx *gale.RequestCtx) { ctx.Request.Header.Cookie("x") },
			sends: func(n int) string { return get + "Cookie: " + again(n, "a;") + "\r\n\r\n" }, sizes: []int{100, 60_000}, bound: bound{6, own, .9}},
		{name: "cookies, many fields", handle: func(ctx *gale.RequestCtx) { ctx.Request.Header.Cookie("x") },
			sends: func(n int) string { return get + again(n, "Cookie:a\r\n") + "\r\n" }, sizes: []int{100, 4900}, bound: bound{8, own, .9}},
		{name: "query", handle: query, sends: func(n int) string { return "GET /?" + again(n, "a&") + " HTTP/1.1\r\nHost: h\r\n\r\n" }, sizes: []int{100, 15_000}, bound: bound{4, own + arguments, .9}},
		{name: "query of escapes", handle: query, sends: func(n int) string { return "GET /?" + again(n, "%61=%61&") + " HTTP/1.1\r\nHost: h\r\n\r\n" }, sizes: []int{15_000}, bound: bound{8, own, 0}},
		{name: "path of escapes", handle: func(ctx *gale.RequestCtx) { ctx.Path() }, sends: func(n int) string { return "GET /" + again(n, "a/../%61/") + " HTTP/1.1\r\nHost: h\r\n\r\n" }, sizes: []int{15_000}, bound: bound{6, own, 0}},

		{name: "body of known length", sends: func(n int) string { return post + "Content-Length: 4000000\r\n\r\n" + strings.Repeat("a", n) }, sizes: []int{0, 10, 3000, 20_000, 400_000}, bound: bound{bodyFactor, 8 << 10, .9}},
		{name: "body of a large chunk", sends: func(n int) string { return chunked + "3d0900\r\n" + strings.Repeat("a", n) }, sizes: []int{0, 10, 3000, 20_000, 400_000}, bound: bound{bodyFactor, 8 << 10, .9}},
		{name: "body of chunks of a byte", sends: func(n int) string { return chunked + again(n, "1\r\na\r\n") }, sizes: []int{100, 400_000}, bound: bound{1, 8 << 10, .1}},
		{name: "chunk extension", sends: func(n int) string { return chunked + "1;" + strings.Repeat("a", n) }, sizes: []int{100, 15_000}, bound: bound{1, 8 << 10, 0}},
		{name: "chunk extensions", sends: func(n int) string { return chunked + again(n, "1;a=b\r\na\r\n") }, sizes: []int{100, 100_000}, bound: bound{1, 16 << 10, 0}},
		{name: "trailers, a long field", sends: func(n int) string { return chunked + "0\r\nX: " + strings.Repeat("a", n) }, sizes: []int{100, 60_000}, bound: bound{2, 8 << 10, .9}},
		{name: "trailers, many fields", sends: func(n int) string { return chunked + "0\r\n" + again(n, "a:b\r\n") }, sizes: []int{100, 2500}, bound: bound{6, 8 << 10, .9}},
		{name: "trailers of many fields", handle: small, sends: func(n int) string { return chunked + "0\r\n" + again(n, "a:b\r\n") + "\r\n" }, sizes: []int{100, 2500}, bound: bound{8, own, .9}},
		{name: "trailers of many fields, merged", handle: func(ctx *gale.RequestCtx) { ctx.Request.Header.Peek("a") }, set: func(s *gale.Server) { s.MergeTrailers = true },
			sends: func(n int) string { return chunked + "0\r\n" + again(n, "a:b\r\n") + "\r\n" }, sizes: []int{100, 2500}, bound: bound{8, own, .9}},
		{name: "streamed body that isn't read", set: streamed, handle: small, sends: func(n int) string { return post + "Content-Length: 4000000\r\n\r\n" + strings.Repeat("a", n) }, sizes: []int{3000, 400_000}, bound: bound{0, own, 0}},
		{name: "streamed chunks that aren't read", set: streamed, handle: small, sends: func(n int) string { return chunked + again(n, "1\r\na\r\n") }, sizes: []int{3000, 400_000}, bound: bound{0, own, 0}},
		{name: "streamed body that is read in part", set: streamed, handle: func(ctx *gale.RequestCtx) { _, _ = io.CopyN(io.Discard, ctx.RequestBodyStream(), 100) },
			sends: func(n int) string { return chunked + again(n, "1\r\na\r\n") }, sizes: []int{3000, 400_000}, bound: bound{0, own, 0}},

		{name: "form, names only", handle: func(ctx *gale.RequestCtx) { ctx.PostArgs() }, sends: form(text("a&")), sizes: []int{100, 20_000, 400_000}, bound: bound{4, own + arguments, .9}},
		{name: "form of empty names", handle: func(ctx *gale.RequestCtx) { ctx.PostArgs() }, sends: form(text("&")), sizes: []int{400_000}, bound: bound{4, own + arguments, .9}},
		{name: "form of escapes", handle: func(ctx *gale.RequestCtx) { ctx.PostArgs() }, sends: form(text("%61=%61&")), sizes: []int{400_000}, bound: bound{4, own + arguments, .9}},
		{name: "multipart, fields", handle: readForm, sends: multipart(func(i int) string {
			return fmt.Sprintf("Content-Disposition: form-data; name=a%d\r\n\r\n", i)
		}), sizes: []int{100, 55_000}, bound: bound{2, own, .5}},
		{name: "multipart, fields of one name", handle: readForm, sends: multipart(text("Content-Disposition: form-data; name=a\r\n\r\n")), sizes: []int{50_000}, bound: bound{2, own, .5}},
		{name: "multipart, small files", handle: readForm, sends: multipart(func(i int) string {
			return fmt.Sprintf("Content-Disposition: form-data; name=a%d; filename=f\r\n\r\nx", i)
		}), sizes: []int{100, 65_000}, bound: bound{2, own, .5}},
		{name: "multipart, many header fields", handle: readForm, sends: multipart(func(i int) string {
			return fmt.Sprintf("Content-Disposition: form-data; name=a%d; filename=f\r\n%s\r\nx", i, many(40, func(i int) string { return fmt.Sprint("a", i, ":\r\n") }))
		}), sizes: []int{100_000}, bound: bound{2, own + partFields, .5}},
		{name: "multipart, streamed", set: streamed, handle: readForm, sends: multipart(func(i int) string {
			return fmt.Sprintf("Content-Disposition: form-data; name=a%d; filename=f\r\n\r\n%s", i, strings.Repeat("x", 30_000))
		}), sizes: []int{400_000}, bound: bound{2, own, 0}},
		{name: "multipart, parameters", handle: readForm, sends: func(n int) string {
			return post + "Content-Type: multipart/form-data; " + many(n, func(i int) string { return fmt.Sprint("a", i, "=b;") }) + "boundary=b\r\n" + length("--b--\r\n")
		}, sizes: []int{60_000}, bound: bound{3, own, .9}},

		{name: "pipelined requests", handle: small, sends: func(n int) string { return again(n, get+"\r\n") }, sizes: []int{100, 400_000}, bound: bound{0, own, 0}},
		{name: "input of a connection that is taken", handle: func(ctx *gale.RequestCtx) { _, _ = ctx.HijackNow() }, sends: func(n int) string { return get + "\r\n" + strings.Repeat("a", n) }, sizes: []int{100, 400_000}, bound: bound{0, own, 0}},

		{name: "responses that aren't read", handle: nil, set: func(s *gale.Server) { s.Handler = func(ctx *gale.RequestCtx) { ctx.SetBody(make([]byte, 10_000)) } },
			sends: func(n int) string { return again(n, get+"\r\n") }, sizes: []int{400_000}, bound: bound{0, own + 128<<10, 0}},
		{name: "responses of streams that aren't read", set: func(s *gale.Server) {
			s.Handler = func(ctx *gale.RequestCtx) {
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					for b := make([]byte, 10_000); ; {
						if _, err := w.Write(b); err != nil {
							return
						}
					}
				})
			}
		}, sends: func(n int) string { return again(n, get+"\r\n") }, sizes: []int{400_000}, bound: bound{0, own + 160<<10 + 64<<10, 0}},

		{name: "HTTP/2, nothing", ping: ping, sends: h2(), sizes: []int{0}, bound: bound{0, 8 << 10, 0}},
		{name: "HTTP/2, half a frame", sends: h2(func(n int) string { return frame(typeHeaders, 0, 1, strings.Repeat("a", 16<<10))[:n] }), sizes: []int{1, 9, 16_000}, bound: bound{2, 4 << 10, .9}},
		{name: "HTTP/2, half a frame of DATA", sends: h2(h2Post, func(n int) string { return frame(typeData, 0, 1, strings.Repeat("a", 16<<10))[:n] }), sizes: []int{1, 9, 16_000}, bound: bound{6, stream, .9}},
		{name: "HTTP/2, a long head without its end", sends: h2(func(n int) string {
			b := block(1, 0, getHead+field("x", strings.Repeat("a", n)))
			return b[:len(b)-1]
		}), sizes: []int{100, 60_000}, bound: bound{2, 4 << 10, .9}},
		{name: "HTTP/2, small CONTINUATION", sends: h2(text(frame(typeHeaders, 0, 1, getHead)), func(n int) string {
			return strings.Repeat(frame(typeContinuation, 0, 1, "\x00\x01a\x00"), min(n/13, 60))
		}), sizes: []int{780}, bound: bound{2, 4 << 10, 0}},
		{name: "HTTP/2, many fields", handle: small, sends: h2(func(n int) string { return block(1, endStream, getHead+again(n, field("a", ""))) }), sizes: []int{100, 2000}, bound: bound{8, stream, .9}},
		{name: "HTTP/2, many crumbs", handle: func(ctx *gale.RequestCtx) { ctx.Request.Header.Cookie("x") }, sends: h2(func(n int) string { return block(1, endStream, getHead+again(n, "\x0f\x11\x01a")) }), sizes: []int{100, 2000}, bound: bound{8, own + stream, .9}},
		{name: "HTTP/2, fields of the table", handle: small, sends: h2(func(n int) string {
			return block(1, endStream, getHead+indexed("x", strings.Repeat("a", 100))+again(n, "\xbe"))
		}), sizes: []int{400}, bound: bound{1, stream + 64<<10, 1}},
		{name: "HTTP/2, the table of the client's fields", handle: small, sends: h2(func(n int) string { return block(1, endStream, getHead+again(n, indexed("a", ""))) }), sizes: []int{1500}, bound: bound{8, stream + 4<<10, 1}},
		{name: "HTTP/2, a large table for the server's fields", ping: ping, handle: small, sends: h2(text(setting(1, 1<<31-1)), h2Stuck), sizes: []int{1}, bound: bound{0, stream, 0}},
		{name: "HTTP/2, trailers", set: streamed, handle: small, ping: ping, sends: h2(h2Post, func(n int) string { return block(1, endStream, again(n, field("a", ""))) }), sizes: []int{100, 2000}, bound: bound{8, stream, .9}},
		{name: "HTTP/2, a body of frames of a byte", ping: ping, sends: h2(h2Post, func(n int) string { return again(n, frame(typeData, 0, 1, "a")) }), sizes: []int{100, 400_000}, bound: bound{.2, stream, .1}},
		{name: "HTTP/2, a streamed body of frames of a byte", set: streamed, handle: small, ping: ping, sends: h2(h2Post, func(n int) string { return again(n, frame(typeData, 0, 1, "a")) }), sizes: []int{100, 400_000}, bound: bound{.2, stream, .1}},
		{name: "HTTP/2, a streamed body that isn't read", set: streamed, handle: small, ping: ping, sends: h2(h2Post, func(n int) string { return again(n, frame(typeData, 0, 1, strings.Repeat("a", 1000))) }), sizes: []int{1000, 60_000}, bound: bound{2, stream, .9}},
		{name: "HTTP/2, padding", set: streamed, handle: small, ping: ping, sends: h2(h2Post, func(n int) string { return again(n, frame(typeData, 8, 1, "\xc8a"+strings.Repeat("\x00", 200))) }), sizes: []int{1000, 60_000}, bound: bound{1, stream, 0}},
		{name: "HTTP/2, streams", ping: ping, sends: h2(func(n int) string {
			return many(n, func(i int) string { return block(2*i+1, 0, postHead) + frame(typeData, 0, 2*i+1, "a") })
		}), sizes: []int{6000}, bound: bound{0, 250 * (6 << 10), 1}},
		{name: "HTTP/2, streams that are reset", ping: ping, sends: h2(func(n int) string {
			return many(n, func(i int) string { return block(2*i+1, 0, postHead) + frame(typeReset, 0, 2*i+1, number(8)) })
		}), sizes: []int{26_000}, bound: bound{0, stream, 0}},
		{name: "HTTP/2, malformed heads", ping: ping, sends: h2(func(n int) string {
			return many(n, func(i int) string { return block(2*i+1, endStream, postHead+field("A", "")) })
		}), sizes: []int{17_000}, bound: bound{0, stream, 0}},
		{name: "HTTP/2, PING", ping: ping, sends: h2(func(n int) string { return again(n, frame(typePing, 0, 0, "12345678")) }), sizes: []int{10_000}, bound: bound{0, 8 << 10, 0}},
		{name: "HTTP/2, SETTINGS", ping: ping, sends: h2(func(n int) string { return again(n, setting(4, 1<<20)) }), sizes: []int{10_000}, bound: bound{0, 8 << 10, 0}},
		{name: "HTTP/2, PRIORITY", ping: ping, sends: h2(func(n int) string {
			return many(n, func(i int) string { return frame(typePriority, 0, 2*i+1, "\x00\x00\x00\x00\x10") })
		}), sizes: []int{100_000}, bound: bound{0, 8 << 10, 0}},
		{name: "HTTP/2, PRIORITY_UPDATE", ping: ping, sends: h2(func(n int) string {
			return many(n, func(i int) string { return frame(typePriorityUpdate, 0, 0, number(2*i+1)+"u=1, i") })
		}), sizes: []int{100_000}, bound: bound{0, 8 << 10, 0}},
		{name: "HTTP/2, WINDOW_UPDATE", ping: ping, sends: h2(func(n int) string { return again(n, frame(typeWindow, 0, 0, number(1))) }), sizes: []int{100_000}, bound: bound{0, 8 << 10, 0}},
		{name: "HTTP/2, unknown frames", ping: ping, sends: h2(func(n int) string { return again(n, frame(0x77, 0, 0, strings.Repeat("a", 1000))) }), sizes: []int{400_000}, bound: bound{0, 8 << 10, 0}},
		{name: "HTTP/2, answers that aren't read", sends: h2(func(n int) string { return again(n, frame(typePing, 0, 0, "12345678")) }), sizes: []int{16_000}, bound: bound{0, 64 << 10, 0}},
		{name: "HTTP/2, responses that aren't read", set: func(s *gale.Server) {
			s.Handler = func(ctx *gale.RequestCtx) { ctx.SetBody(make([]byte, 60_000)) }
		}, sends: h2(text(setting(4, 1<<30)+frame(typeWindow, 0, 0, number(1<<30))), func(n int) string {
			return many(n, func(i int) string { return block(2*i+1, endStream, getHead) })
		}), sizes: []int{900}, bound: bound{0, 64*(64<<10) + 240<<10, 0}},
		{name: "HTTP/2, input of a stream that is taken", set: func(s *gale.Server) { s.HTTP2.WebSocket = true }, handle: func(ctx *gale.RequestCtx) { _, _ = ctx.HijackNow() }, ping: ping,
			sends: h2(text(block(1, 0, connectHead)), func(n int) string { return again(n, frame(typeData, 0, 1, strings.Repeat("a", 1000))) }), sizes: []int{1000, 60_000}, bound: bound{2, stream, .9}},

		{name: "WebSocket, nothing", set: webSockets(ws.Base{}, nil), ping: wsPing, sends: wsSends(text("")), sizes: []int{0}, bound: bound{0, own, 0}},
		{name: "WebSocket, a part of a frame", set: webSockets(ws.Base{}, nil), sends: wsSends(func(n int) string {
			return wsFrame(wsframe.Binary, true, false, strings.Repeat("a", 1<<20))[:n]
		}), sizes: []int{1, 6, 14, 1000, 100_000}, bound: bound{4, 6 << 10, .5}},
		{name: "WebSocket, fragments of a byte", set: webSockets(ws.Base{}, nil), ping: wsPing, sends: wsSends(func(n int) string {
			return wsFrame(wsframe.Binary, false, false, "a") + again(n, wsFrame(wsframe.Continuation, false, false, "a"))
		}), sizes: []int{100, 400_000}, bound: bound{1, own, .1}},
		{name: "WebSocket, fragments without data", set: webSockets(ws.Base{}, nil), ping: wsPing, sends: wsSends(func(n int) string {
			return wsFrame(wsframe.Binary, false, false, "") + again(n, wsFrame(wsframe.Continuation, false, false, ""))
		}), sizes: []int{500}, bound: bound{0, 6 << 10, 0}},
		{name: "WebSocket, pings", set: webSockets(ws.Base{}, nil), ping: wsPing, sends: wsSends(func(n int) string {
			return again(n, wsFrame(wsframe.Ping, true, false, strings.Repeat("a", 125)))
		}), sizes: []int{10_000}, bound: bound{0, 6 << 10, 0}},
		{name: "WebSocket, a compressed message without its end", set: webSockets(ws.Base{}, &ws.Options{Compression: &ws.Compression{}}), ping: wsPing, sends: wsSends(func(n int) string {
			return wsFrame(wsframe.Binary, false, true, deflated(strings.Repeat("a", n)))
		}), sizes: []int{1000, 1_000_000}, bound: bound{8, own, 0}},
		{name: "WebSocket, a compressed message that is handled", set: webSockets(slow{}, &ws.Options{Compression: &ws.Compression{}}), sends: wsSends(func(n int) string {
			return wsFrame(wsframe.Binary, true, true, deflated(strings.Repeat("a", n)))
		}), sizes: []int{1000, 1_000_000}, bound: bound{0, own + 64<<10 + 5<<18, 1}},
		{name: "WebSocket, a Conn that doesn't read", set: func(s *gale.Server) {
			s.Handler = func(ctx *gale.RequestCtx) { _ = ws.Accept(ctx, func(*ws.Conn) { <-over }, nil) }
		}, sends: wsSends(func(n int) string { return again(n, wsFrame(wsframe.Binary, true, false, strings.Repeat("a", 1000))) }), sizes: []int{400_000}, bound: bound{0, own, 0}},

		{name: "HTTP/2, a large unknown frame", sends: h2(func(n int) string { return frame(0x77, 0, 0, strings.Repeat("a", 16<<10))[:n] }), sizes: []int{16_000}, bound: bound{0, 8 << 10, 0}},
	}
}

// TestServer proves what a server holds for what clients send.
func TestServer(t *testing.T) {
	for _, e := range engines() {
		for _, row := range serverRows() {
			for _, n := range row.sizes {
				t.Run(fmt.Sprintf("%v/%s/%d", e, row.name, n), func(t *testing.T) { repeatedly(t, func() error { return row.test(t, e, n) }) })
			}
		}
	}
}

// test returns an error if too much is held.
func (row serverRow) test(t *testing.T, e gale.Engine, n int) error {
	in := make(chan struct{}, 2*conns)
	over = make(chan struct{})
	s := &gale.Server{Engine: e, Logger: log.New(io.Discard, "", 0), HTTP2: gale.HTTP2Config{H2C: true}, ReadHeaderTimeout: -1, ReadStallTimeout: -1, Handler: func(ctx *gale.RequestCtx) {
		if row.handle != nil {
			row.handle(ctx)
		}
		in <- struct{}{}
		<-over
	}}
	if row.set != nil {
		row.set(s)
	}
	handler := s.Handler
	s.Handler = func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) != "/first" {
			handler(ctx)
		}
	}
	ln := listen(t)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	defer func() {
		close(over)
		_ = s.Close()
		_ = ln.Close() // Serve may not have begun yet, and would begin after Close
		receive(t, "the end of Serve", served, 1)
	}()
	dial := func(send string) net.Conn {
		nc, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = nc.SetDeadline(time.Now().Add(patience))
		if _, err := io.WriteString(nc, send); err != nil {
			t.Fatal(err)
		}
		return nc
	}
	first := dial("GET /first HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
	_, _ = io.Copy(io.Discard, first)
	first.Close()
	await.Until(t, "the end of the first connection", func() bool { return s.GetOpenConnectionsCount() == 0 })

	input := row.sends(n) + row.ping
	before := inUse(0)
	for range conns {
		nc := dial(input)
		defer nc.Close()
		if row.ping != "" && !answered(nc) {
			t.Fatal("the server has closed the connection")
		}
	}
	if row.handle != nil {
		receive(t, "the handlers", in, conns)
	}
	defer runtime.KeepAlive(input)
	return row.check(before, len(input))
}
