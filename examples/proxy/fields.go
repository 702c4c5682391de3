package main

import (
	"bytes"
	"iter"
	"net"
	"slices"

	"github.com/galehttp/gale"
)

// hopByHop are the fields that concern one connection and end there (RFC 9110
// section 7.6.1). Transfer-Encoding is one too, but none of ours: the library
// frames each message itself. Without Upgrade no request becomes a WebSocket.
var hopByHop = []string{
	"Keep-Alive", "Proxy-Connection", "TE", "Upgrade",
	"Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
}

// header is what the headers of requests and responses have in common.
type header interface {
	PeekAll(name string) [][]byte
	Del(name string)
	DelBytes(name []byte)
	AddTrailerValue(name, value string) error
}

// removeHopByHop removes the fields that end here: those of old, and those that
// Connection names, which it returns.
func removeHopByHop(h header) (named [][]byte) {
	for _, value := range h.PeekAll("Connection") {
		for option := range bytes.SplitSeq(value, []byte(",")) {
			named = append(named, bytes.Clone(bytes.TrimSpace(option)))
		}
	}
	for _, name := range named {
		if !framing(name) {
			h.DelBytes(name)
		}
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
	h.Del("Connection")
	return named
}

// passTrailers adds the fields of a trailer section, except hop-by-hop fields, also
// those that Connection named, and those of which the header has the name already:
// what this proxy has set or removed must not come in after the body.
func passTrailers(to header, named [][]byte, trailers iter.Seq2[[]byte, []byte]) {
	type field struct{ name, value string }
	var pass []field
	for name, value := range trailers {
		same := func(other []byte) bool { return bytes.EqualFold(other, name) }
		hop := func(other string) bool { return same([]byte(other)) }
		if !slices.ContainsFunc(named, same) && !slices.ContainsFunc(hopByHop, hop) && len(to.PeekAll(string(name))) == 0 {
			pass = append(pass, field{string(name), string(value)})
		}
	}
	for _, f := range pass {
		_ = to.AddTrailerValue(f.name, f.value) // an error: it must not be a trailer field
	}
}

// framing reports whether a message needs the field called name to be what it is,
// whatever Connection says.
func framing(name []byte) bool {
	for _, f := range []string{"Host", "Content-Length", "Transfer-Encoding", "Trailer"} {
		if bytes.EqualFold(name, []byte(f)) {
			return true
		}
	}
	return len(name) == 0
}

// setForwarded tells the server the client's address. What the request says of that is
// from anyone, unless a proxy that is trusted is in front.
func setForwarded(client *gale.RequestCtx, to *gale.RequestHeader, trust bool) {
	ip, _, err := net.SplitHostPort(client.RemoteAddr().String())
	if err != nil {
		ip = client.RemoteAddr().String()
	}
	if trust {
		if before := bytes.Join(to.PeekAll("X-Forwarded-For"), []byte(", ")); len(before) > 0 {
			ip = string(before) + ", " + ip
		}
	} else {
		to.Del("Forwarded")
		to.Del("X-Real-IP")
		to.Del("X-Forwarded-Host")
		to.Del("X-Forwarded-Proto")
	}
	to.Set("X-Forwarded-For", ip)
	if len(to.Peek("X-Forwarded-Host")) == 0 {
		to.SetBytesV("X-Forwarded-Host", client.Host())
	}
	if len(to.Peek("X-Forwarded-Proto")) == 0 {
		proto := "http"
		if client.IsTLS() {
			proto = "https"
		}
		to.Set("X-Forwarded-Proto", proto)
	}
}
