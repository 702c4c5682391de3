package main

import (
	"strings"
)

// defaultMessage is the message that is sent over a WebSocket without a body: 64 bytes.
var defaultMessage = strings.Repeat("0123456789abcdef", 4)

// noWebSocketFlags are flags that have no meaning for a WebSocket, with the reason.
var noWebSocketFlags = []struct{ name, why string }{
	{"http2", "WebSocket over HTTP/2 can't be measured"},
	{"no-keepalive", "use --requests-per-conn to limit the messages of a WebSocket"},
	{"X", "a handshake is a GET request"},
	{"method", "a handshake is a GET request"},
	{"form", "give the message by --body or --body-file"},
	{"expect", "the message that comes back must be the one that was sent"},
}

// checkWebSocket finds flags that contradict the schemes of the URLs, and sets what a
// WebSocket needs.
func (b *bench) checkWebSocket() error {
	first, cfg := b.urls[0], b.cfg
	for _, u := range b.urls {
		if u.ws != first.ws {
			return usagef("%s and %s can't be measured in one run: one is a WebSocket", first.text, u.text)
		}
	}
	if !first.ws {
		return nil
	}
	for _, f := range noWebSocketFlags {
		if cfg.given[f.name] {
			return usagef("%s can't be used with a WebSocket: %s", dashed(f.name), f.why)
		}
	}
	b.plan.WebSocket = true
	cfg.method = "GET"
	if !cfg.body.Given() {
		cfg.body.Text = defaultMessage
	}
	return nil
}
