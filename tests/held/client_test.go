//go:build !race

package held

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/ws"
)

// clientRow is something that a client holds. Each connection has a client of its own.
type clientRow struct {
	name  string
	call  func(addr string) any // makes a call, and returns what the program keeps of it
	after string                // what the server reads before it sends
	sends func(n int) string    // what the server sends: about n bytes
	sizes []int
	// ping is what the server sends at last, if not "": it waits for an answer with the same
	// data.
	ping string
	// returns says that the call returns before the server closes the connection.
	returns bool
	bound
}

// do calls a HostClient. The program keeps the client and the response.
func do(set func(c *gale.HostClient)) func(addr string) any {
	return func(addr string) any {
		c := &gale.HostClient{Addr: addr, MaxIdemponentCallAttempts: 1}
		set(c)
		var req gale.Request
		req.SetRequestURI("http://h/")
		resp := new(gale.Response)
		err := c.DoTimeout(&req, resp, patience)
		return []any{c, resp, err}
	}
}

func pipelined(addr string) any {
	c := &gale.PipelineClient{Addr: addr, Logger: log.New(io.Discard, "", 0)}
	var req gale.Request
	req.SetRequestURI("http://h/")
	resp := new(gale.Response)
	err := c.DoTimeout(&req, resp, patience)
	return []any{c, resp, err}
}

// What a client of its own holds besides what was sent.
const (
	ofClient   = 28 << 10            // with a connection of HTTP/1.1 and a call
	ofH2Client = stream + h2Received // with a connection of HTTP/2 and a call
	h2Received = 64 << 10            // a buffer that a connection of HTTP/2 reads into
)

func clientRows() []clientRow {
	plain := func(*gale.HostClient) {}
	raised := func(c *gale.HostClient) { c.ReadBufferSize = 1 << 20 }
	streamed := func(c *gale.HostClient) { c.StreamResponseBody = true }
	h2 := func(c *gale.HostClient) { c.HTTP2 = gale.HTTP2Only }
	h2Streamed := func(c *gale.HostClient) { c.HTTP2, c.StreamResponseBody = gale.HTTP2Only, true }

	ok := "HTTP/1.1 200 OK\r\n"
	chunked := ok + "Transfer-Encoding: chunked\r\n\r\n"
	text := func(s string) func(int) string { return func(int) string { return s } }
	letters := func(n int) string { return strings.Repeat("a", n) }
	after := func(s string, f func(n int) string) func(int) string { return func(n int) string { return s + f(n) } }
	fields := func(n int) string { return again(n, "a:b\r\n") }
	h2Sends := func(parts ...func(n int) string) func(n int) string {
		return func(n int) string {
			s := frame(typeSettings, 0, 0, "")
			for _, p := range parts {
				s += p(n)
			}
			return s
		}
	}
	h2OK := text(block(1, 0, okHead))
	var rows []clientRow
	for _, kind := range []struct {
		name string
		call func(addr string) any
	}{{"", do(plain)}, {"PipelineClient, ", pipelined}} {
		rows = append(rows, []clientRow{
			{name: "nothing", sends: text(""), sizes: []int{0}, bound: bound{0, ofClient, 0}},
			{name: "head, a long reason", sends: after("HTTP/1.1 200 ", letters), sizes: []int{100, 60_000}, bound: bound{2, ofClient, .9}},
			{name: "head, a long field", sends: after(ok+"X: ", letters), sizes: []int{100, 60_000}, bound: bound{2, ofClient, .9}},
			{name: "head, many fields", sends: after(ok, fields), sizes: []int{100, 2500}, bound: bound{8, ofClient, .9}},
			{name: "head of many fields", sends: func(n int) string { return ok + fields(n) + "Content-Length: 0\r\n\r\n" }, sizes: []int{100, 2500}, returns: true, bound: bound{8, ofClient, .9}},
			{name: "a long field", sends: func(n int) string { return ok + "X: " + letters(n) + "\r\nContent-Length: 0\r\n\r\n" }, sizes: []int{60_000}, returns: true, bound: bound{3, ofClient, .9}},
			{name: "Set-Cookie", sends: func(n int) string { return ok + again(n, "Set-Cookie:a=b\r\n") + "Content-Length: 0\r\n\r\n" }, sizes: []int{100, 7500}, returns: true, bound: bound{8, ofClient, .9}},
			{name: "interim responses", sends: func(n int) string { return again(n, "HTTP/1.1 103 Early Hints\r\n"+fields(500)+"\r\n") }, sizes: []int{100, 400_000}, bound: bound{0, ofClient + 8<<10, 0}},
			{name: "body of known length", sends: after(ok+"Content-Length: 4000000\r\n\r\n", letters), sizes: []int{0, 10, 3000, 20_000, 400_000}, bound: bound{bodyFactor, ofClient, .9}},
			{name: "body of a large chunk", sends: after(chunked+"3d0900\r\n", letters), sizes: []int{0, 10, 3000, 20_000, 400_000}, bound: bound{bodyFactor, ofClient, .9}},
			{name: "body up to the end", sends: after(ok+"Connection: close\r\n\r\n", letters), sizes: []int{0, 10, 3000, 20_000, 400_000}, bound: bound{bodyFactor, ofClient, .9}},
			{name: "body of chunks of a byte", sends: func(n int) string { return chunked + again(n, "1\r\na\r\n") }, sizes: []int{100, 400_000}, bound: bound{1, ofClient, .1}},
			{name: "chunk extension", sends: after(chunked+"1;", letters), sizes: []int{100, 15_000}, bound: bound{1, ofClient, 0}},
			{name: "trailers, a long field", sends: after(chunked+"0\r\nX: ", letters), sizes: []int{100, 60_000}, bound: bound{2, ofClient, .9}},
			{name: "trailers, many fields", sends: after(chunked+"0\r\n", fields), sizes: []int{100, 2500}, bound: bound{8, ofClient, .9}},
			{name: "trailers of many fields", sends: func(n int) string { return chunked + "0\r\n" + fields(n) + "\r\n" }, sizes: []int{100, 2500}, returns: true, bound: bound{8, ofClient, .9}},
			{name: "bytes after the response", sends: after(ok+"Content-Length: 0\r\n\r\n", letters), sizes: []int{400_000}, returns: true, bound: bound{0, ofClient, 0}},
			{name: "responses without a request", sends: func(n int) string { return again(n, ok+"Content-Length: 0\r\n\r\n") }, sizes: []int{400_000}, returns: true, bound: bound{0, ofClient, 0}},
		}...)
		for i := range rows {
			if rows[i].call == nil {
				rows[i].name, rows[i].call, rows[i].after = kind.name+rows[i].name, kind.call, "\r\n\r\n"
			}
		}
	}
	rows = append(rows, []clientRow{
		{name: "head, many fields, limits raised", call: do(raised), sends: after(ok, fields), sizes: []int{2500}, bound: bound{8, ofClient, .9}},
		{name: "streamed body that isn't read", call: do(streamed), sends: after(ok+"Content-Length: 4000000\r\n\r\n", letters), sizes: []int{3000, 400_000}, returns: true, bound: bound{0, ofClient, 0}},
		{name: "streamed chunks that aren't read", call: do(streamed), sends: func(n int) string { return chunked + again(n, "1\r\na\r\n") }, sizes: []int{3000, 400_000}, returns: true, bound: bound{0, own, 0}},
	}...)
	for i := range rows {
		rows[i].after = "\r\n\r\n"
	}
	h2Rows := []clientRow{
		{name: "nothing", ping: ping, sends: h2Sends(), sizes: []int{0}, bound: bound{0, ofH2Client, 0}},
		{name: "half a frame", sends: h2Sends(func(n int) string { return frame(typeHeaders, 0, 1, letters(16<<10))[:n] }), sizes: []int{1, 16_000}, bound: bound{4, ofH2Client, .9}},
		{name: "half a frame of DATA", sends: h2Sends(h2OK, func(n int) string { return frame(typeData, 0, 1, letters(16<<10))[:n] }), sizes: []int{1, 9, 16_000}, bound: bound{6, ofH2Client, .9}},
		{name: "a long head without its end", sends: h2Sends(func(n int) string {
			b := block(1, 0, okHead+field("x", letters(n)))
			return b[:len(b)-1]
		}), sizes: []int{100, 60_000}, bound: bound{4, ofH2Client, .9}},
		{name: "many fields", sends: h2Sends(func(n int) string { return block(1, endStream, okHead+again(n, field("a", ""))) }), sizes: []int{100, 2000}, returns: true, bound: bound{8, ofH2Client, .9}},
		{name: "fields of the table", sends: h2Sends(func(n int) string { return block(1, endStream, okHead+indexed("x", letters(100))+again(n, "\xbe")) }), sizes: []int{400}, returns: true, bound: bound{1, ofH2Client + 64<<10, 1}},
		{name: "the table of the server's fields", sends: h2Sends(func(n int) string { return block(1, endStream, okHead+again(n, indexed("a", ""))) }), sizes: []int{1500}, returns: true, bound: bound{8, ofH2Client + 4<<10, 1}},
		{name: "a large table for the client's fields", ping: ping, sends: h2Sends(text(setting(1, 1<<31-1))), sizes: []int{1}, bound: bound{0, ofH2Client, 0}},
		{name: "interim responses", ping: ping, sends: h2Sends(func(n int) string { return again(n, block(1, 0, hintHead+again(400, field("a", "b")))) }), sizes: []int{400, 40_000}, bound: bound{0, ofH2Client + 8<<10, 0}},
		{name: "trailers", sends: h2Sends(h2OK, func(n int) string { return block(1, endStream, again(n, field("a", ""))) }), sizes: []int{100, 2000}, returns: true, bound: bound{8, ofH2Client, .9}},
		{name: "a body of frames of a byte", ping: ping, sends: h2Sends(h2OK, func(n int) string { return again(n, frame(typeData, 0, 1, "a")) }), sizes: []int{100, 400_000}, bound: bound{.2, ofH2Client, .1}},
		{name: "a body", ping: ping, sends: h2Sends(h2OK, func(n int) string { return again(n, frame(typeData, 0, 1, letters(1000))) }), sizes: []int{1000, 60_000}, bound: bound{4, ofH2Client, .9}},
		{name: "PING", ping: ping, sends: h2Sends(func(n int) string { return again(n, frame(typePing, 0, 0, "12345678")) }), sizes: []int{10_000}, bound: bound{0, ofH2Client + 4<<10, 0}},
		{name: "SETTINGS", ping: ping, sends: h2Sends(func(n int) string { return again(n, setting(4, 1<<20)) }), sizes: []int{10_000}, bound: bound{0, ofH2Client, 0}},
		{name: "WINDOW_UPDATE", ping: ping, sends: h2Sends(func(n int) string { return again(n, frame(typeWindow, 0, 0, number(1))) }), sizes: []int{100_000}, bound: bound{0, ofH2Client, 0}},
		{name: "PRIORITY", ping: ping, sends: h2Sends(func(n int) string { return again(n, frame(typePriority, 0, 1, "\x00\x00\x00\x00\x10")) }), sizes: []int{50_000}, bound: bound{0, ofH2Client, 0}},
		{name: "a pushed response", sends: h2Sends(func(n int) string { return frame(typePush, endHeaders, 1, number(2)+getHead+field("x", letters(n))) }), sizes: []int{10_000}, returns: true, bound: bound{0, ofH2Client, 0}},
		{name: "unknown frames", ping: ping, sends: h2Sends(func(n int) string { return again(n, frame(0x77, 0, 0, letters(1000))) }), sizes: []int{400_000}, bound: bound{0, ofH2Client, 0}},
		{name: "a large unknown frame", sends: h2Sends(func(n int) string { return frame(0x77, 0, 0, letters(16<<10))[:n] }), sizes: []int{16_000}, bound: bound{0, ofH2Client, 0}},
		{name: "text of GOAWAY", sends: h2Sends(func(n int) string { return frame(7, 0, 0, number(1)+number(0)+letters(n)) }), sizes: []int{16_000}, bound: bound{0, ofH2Client, 0}},
	}
	for i := range h2Rows {
		h2Rows[i].call = do(h2)
	}
	h2Rows = append(h2Rows, []clientRow{
		{name: "a streamed body of frames of a byte", call: do(h2Streamed), ping: ping, returns: true, sends: h2Sends(h2OK, func(n int) string { return again(n, frame(typeData, 0, 1, "a")) }), sizes: []int{100, 400_000}, bound: bound{.2, ofH2Client, .1}},
		{name: "a streamed body that isn't read", call: do(h2Streamed), ping: ping, returns: true, sends: h2Sends(h2OK, func(n int) string { return again(n, frame(typeData, 0, 1, letters(1000))) }), sizes: []int{1000, 60_000}, bound: bound{4, ofH2Client, .9}},
	}...)
	for _, row := range h2Rows {
		row.name, row.after = "HTTP/2, "+row.name, "h2"
		rows = append(rows, row)
	}

	dial := func(o *ws.DialOptions, read bool) func(addr string) any {
		return func(addr string) any {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			c, resp, err := ws.Dial(ctx, "ws://"+addr+"/", o)
			if err == nil && read {
				_, b, err := c.Read(ctx)
				return []any{c, resp, b, err}
			}
			return []any{c, resp, err}
		}
	}
	frames := func(op wsframe.Opcode, fin bool, payload string) string {
		return string(wsframe.AppendFrame(nil, op, fin, false, []byte(payload)))
	}
	for _, row := range []clientRow{
		{name: "a refusal", call: dial(nil, false), sends: after("HTTP/1.1 403 Forbidden\r\nContent-Length: 4000000\r\n\r\n", letters), sizes: []int{400_000}, returns: true, bound: bound{0, own + 32<<10, 0}},
		{name: "a refusal without its head's end", call: dial(nil, false), sends: after("HTTP/1.1 403 Forbidden\r\nX: ", letters), sizes: []int{15_000}, bound: bound{2, own, .9}},
		{name: "messages that aren't read", call: dial(nil, false), sends: func(n int) string { return accepted + again(n, frames(wsframe.Binary, true, letters(1000))) }, sizes: []int{400_000}, returns: true, bound: bound{0, own, 0}},
		{name: "a part of a message", call: dial(nil, true), sends: func(n int) string { return accepted + frames(wsframe.Binary, true, letters(1<<20))[:n] }, sizes: []int{1, 14, 1000, 100_000}, bound: bound{4, own, .5}},
		{name: "fragments of a byte", call: dial(nil, true), sends: func(n int) string {
			return accepted + frames(wsframe.Binary, false, "a") + again(n, frames(wsframe.Continuation, false, "a"))
		}, sizes: []int{100, 400_000}, bound: bound{1, own, .1}},
		{name: "pings", call: dial(nil, true), sends: func(n int) string { return accepted + again(n, frames(wsframe.Ping, true, letters(125))) }, sizes: []int{10_000}, bound: bound{0, own, 0}},
	} {
		row.name, row.after = "WebSocket, "+row.name, "\r\n\r\n"
		rows = append(rows, row)
	}
	return rows
}

// accepted stands for the answer to the handshake of a WebSocket, which depends on the key.
const accepted = "ACCEPTED"

// TestClient proves what a client holds for what servers send.
func TestClient(t *testing.T) {
	for _, row := range clientRows() {
		for _, n := range row.sizes {
			t.Run(fmt.Sprintf("%s/%d", row.name, n), func(t *testing.T) { repeatedly(t, func() error { return row.test(t, n) }) })
		}
	}
}

// test returns an error if too much is held.
func (row clientRow) test(t *testing.T, n int) error {
	input := row.sends(n) + row.ping
	var wg sync.WaitGroup
	defer wg.Wait()
	sent, returned := make(chan bool, conns), make(chan struct{}, conns)
	ln := listen(t)
	defer ln.Close()
	over := make(chan struct{})
	defer close(over)
	wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { defer nc.Close(); sent <- row.serve(nc, input); <-over })
		}
	})
	before := inUse(0)
	var kept [conns]any
	for i := range kept {
		wg.Go(func() {
			kept[i] = row.call(ln.Addr().String())
			returned <- struct{}{}
		})
	}
	for range conns {
		select {
		case ok := <-sent:
			if !ok {
				t.Fatal("the client has closed the connection")
			}
		case <-time.After(patience):
			t.Fatal("waiting for requests")
		}
	}
	if row.returns {
		receive(t, "the calls", returned, conns)
	}
	defer runtime.KeepAlive(input)
	defer runtime.KeepAlive(&kept)
	return row.check(before, len(input))
}

// serve sends input when the request has come.
func (row clientRow) serve(nc net.Conn, input string) bool {
	_ = nc.SetDeadline(time.Now().Add(patience))
	wanted := [][]byte{[]byte(row.after)}
	if row.after == "h2" {
		wanted = [][]byte{[]byte("\x01\x05\x00\x00\x00\x01"), []byte("\x01\x25\x00\x00\x00\x01")}
	}
	var got []byte
	for b := make([]byte, 512); !slices.ContainsFunc(wanted, func(w []byte) bool { return bytes.Contains(got, w) }); {
		n, err := nc.Read(b)
		if err != nil {
			return false
		}
		got = append(got, b[:n]...)
	}
	if rest, ok := strings.CutPrefix(input, accepted); ok {
		_, key, _ := bytes.Cut(got, []byte("ocket-Key: "))
		key, _, _ = bytes.Cut(key, []byte("\r"))
		input = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: " + string(wsframe.AppendAccept(nil, key)) + "\r\n\r\n"
		if _, err := io.WriteString(nc, input); err != nil {
			return false
		}
		input = rest
	}
	_, err := io.WriteString(nc, input)
	return row.ping == "" || err == nil && answered(nc)
}
