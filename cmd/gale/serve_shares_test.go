package main

import (
	"log/slog"
	"net"
	"net/netip"
	"testing"

	"github.com/galehttp/gale"
)

// One client can't keep all archives or uploads from the others.
func TestOneClient(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	cfg := &serveConfig{dir: site(t, map[string]string{"a.txt": "a"}), zip: true}
	cfg.upload.on, cfg.upload.max = true, 1000
	h := cfg.newHandler(nil, logger)
	ask := func(ip, method, target string) (*gale.RequestCtx, int) {
		ctx, req := new(gale.RequestCtx), new(gale.Request)
		req.Header.SetMethod(method)
		req.SetRequestURI(target)
		req.Header.SetHost("h")
		ctx.Init(req, &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}, nil)
		h(ctx)
		return ctx, ctx.Response.StatusCode()
	}
	var running []*gale.RequestCtx
	for i := range maxOwnZips + 1 {
		ctx, status := ask("192.0.2.1", "GET", "/?zip")
		running = append(running, ctx)
		if want := 200 + 303*(i/maxOwnZips); status != want {
			t.Errorf("archive %d: status %d, want %d", i, status, want)
		}
	}
	other, status := ask("192.0.2.2", "GET", "/?zip")
	if status != 200 {
		t.Errorf("archive for another client: status %d", status)
	}
	for _, ctx := range append(running, other) {
		_ = ctx.Response.CloseBodyStream()
	}
	last, status := ask("192.0.2.1", "GET", "/?zip")
	if status != 200 {
		t.Errorf("archive after the others: status %d", status)
	}
	_ = last.Response.CloseBodyStream()

	u := cfg.upload.state
	for range maxOwnUploads {
		if _, ok := u.shares.Take(netip.MustParseAddr("192.0.2.1"), maxOwnUploads); !ok {
			t.Fatal("too few places")
		}
	}
	if _, status := ask("192.0.2.1", "PUT", "/b.txt"); status != 503 {
		t.Errorf("upload: status %d", status)
	}
	if ctx, status := ask("192.0.2.2", "PUT", "/c.txt"); status != 201 {
		t.Errorf("upload of another client: status %d, %s", status, ctx.Response.Body())
	}
	if len(u.slots) != 0 {
		t.Errorf("%d places are still taken", len(u.slots))
	}
}
