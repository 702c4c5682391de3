package reverse

import (
	"bytes"
	"iter"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/pathrule"
)

// hopByHop are the fields that concern one connection and are not passed on (RFC
// 9110 section 7.6.1). Transfer-Encoding is one too, but the library handles it: it
// frames each message itself. Without Upgrade no request becomes a WebSocket.
var hopByHop = []string{
	"TE", "Upgrade", "Connection", "Keep-Alive", "Proxy-Connection",
	"Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization", "HTTP2-Settings",
}

// isHopByHop reports whether name is one of hopByHop.
func isHopByHop(name []byte) bool {
	for _, hop := range hopByHop {
		if len(hop) == len(name) && strings.EqualFold(hop, string(name)) {
			return true
		}
	}
	return false
}

// header has the methods that the headers of requests and responses share.
type header interface {
	PeekAll(name string) [][]byte
	DelBytes(name []byte)
	AddTrailerValue(name, value string) error
}

// requestHop removes the fields of a request that must not be passed on: hop-by-hop
// fields, the fields that Connection names (their names are returned), and, unless
// the client is trusted, the fields that say where the request comes from.
func requestHop(h *gale.RequestHeader, trusted bool) (named [][]byte) {
	var l leaving
	for name, value := range h.All() {
		l.look(name, value, !trusted && isForwarded(name))
	}
	return l.remove(h)
}

// responseHop is requestHop for responses.
func responseHop(h *gale.ResponseHeader) (named [][]byte) {
	var l leaving
	for name, value := range h.All() {
		l.look(name, value, false)
	}
	return l.remove(h)
}

// leaving collects the fields that will be removed from a header.
type leaving struct {
	names, named [][]byte
}

// look adds the field if it is a hop-by-hop field or if also is true. If it is
// Connection, look adds the names in its value too.
func (l *leaving) look(name, value []byte, also bool) {
	if !also && !isHopByHop(name) {
		return
	}
	l.names = append(l.names, bytes.Clone(name))
	if bytes.EqualFold(name, []byte("Connection")) {
		for option := range bytesconv.Elements([][]byte{value}) {
			l.named = append(l.named, bytes.Clone(option))
		}
	}
}

func (l *leaving) remove(h header) (named [][]byte) {
	for _, name := range l.names {
		h.DelBytes(name)
	}
	for _, name := range l.named {
		if !framing(name) {
			h.DelBytes(name)
		}
	}
	return l.named
}

// framing reports whether a message would change its meaning without the field
// called name. Such a field stays even if Connection names it.
func framing(name []byte) bool {
	for _, f := range []string{"Host", "Content-Length", "Transfer-Encoding", "Trailer"} {
		if bytes.EqualFold(name, []byte(f)) {
			return true
		}
	}
	return false
}

// passTrailers adds the fields of a trailer section, with these exceptions:
// hop-by-hop fields, fields that Connection named, and fields that the header has
// already. So the trailer section can't bring back what this proxy has set or
// removed.
func passTrailers(to header, named [][]byte, trailers iter.Seq2[[]byte, []byte]) {
	type field struct{ name, value string }
	var pass []field
	for name, value := range trailers {
		same := func(other []byte) bool { return bytes.EqualFold(other, name) }
		if !slices.ContainsFunc(named, same) && !isHopByHop(name) && !isForwarded(name) && len(to.PeekAll(string(name))) == 0 {
			pass = append(pass, field{string(name), string(value)})
		}
	}
	for _, f := range pass {
		_ = to.AddTrailerValue(f.name, f.value) // an error: it must not be a trailer field
	}
}

// isForwarded reports whether the field called name says where a request comes
// from. Programs that get fields as variables (CGI, WSGI) can't distinguish "_"
// from "-" in a name.
func isForwarded(name []byte) bool {
	const prefix = "X-Forwarded-"
	return len(name) > len(prefix) && sameName(name[:len(prefix)], prefix) || sameName(name, "Forwarded") || sameName(name, "X-Real-IP")
}

// sameName reports whether name is want, ignoring case and treating "_" as "-".
func sameName(name []byte, want string) bool {
	if len(name) != len(want) {
		return false
	}
	for i := range name {
		if c := name[i]; c|0x20 != want[i]|0x20 && (c != '_' || want[i] != '-') {
			return false
		}
	}
	return true
}

// trusts reports whether addr is one of TrustedProxies.
func (p *Proxy) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(p.TrustedProxies, func(t netip.Prefix) bool { return t.Contains(addr) })
}

// setForwarded tells the upstream the client's address. The fields of the request
// that say something else were removed before, unless the client is trusted.
func (p *Proxy) setForwarded(to *gale.RequestHeader, addr netip.Addr, trusted, tls bool) {
	var room [64]byte
	from, proto, host := append(room[:0], "unknown"...), "http", to.Host()
	if addr.IsValid() {
		from = addr.AppendTo(room[:0])
	}
	if tls {
		proto = "https"
	}
	if p.Forwarded || trusted && says(to, "Forwarded") {
		to.Add("Forwarded", forwarded(string(from), addr.Is6(), proto, host))
	}
	if !trusted {
		to.AddBytesV("X-Forwarded-For", from)
		to.AddBytesV("X-Forwarded-Host", host)
		to.Add("X-Forwarded-Proto", proto)
		return
	}
	if before := bytes.Join(to.PeekAll("X-Forwarded-For"), []byte(", ")); len(before) > 0 {
		from = append(append(before, ", "...), from...)
	}
	to.SetBytesV("X-Forwarded-For", from)
	if !says(to, "X-Forwarded-Host") {
		to.SetBytesV("X-Forwarded-Host", host)
	}
	if !says(to, "X-Forwarded-Proto") {
		to.Set("X-Forwarded-Proto", proto)
	}
}

// says reports whether a line of the field called name has a value.
func says(h *gale.RequestHeader, name string) bool {
	return slices.ContainsFunc(h.PeekAll(name), func(line []byte) bool { return len(line) > 0 })
}

// peer returns the IP address of a client, or the zero Addr if it has none.
func peer(client *gale.RequestCtx) netip.Addr {
	if c := door.Of(client).Peer(); c != nil {
		if addr := engine.PeerOf(c).Addr(); addr.IsValid() {
			return addr // without allocations
		}
	}
	a := client.RemoteAddr()
	if t, ok := a.(*net.TCPAddr); ok {
		addr, _ := netip.AddrFromSlice(t.IP)
		return addr.Unmap()
	}
	ap, _ := netip.ParseAddrPort(a.String())
	return ap.Addr().Unmap().WithZone("")
}

// forwarded returns an element of the field Forwarded (RFC 7239 section 4).
func forwarded(from string, v6 bool, proto string, host []byte) string {
	if v6 {
		from = `"[` + from + `]"`
	}
	s := "for=" + from + ";proto=" + proto
	if len(host) == 0 || bytes.ContainsAny(host, "\"\\") {
		return s
	}
	return s + `;host="` + string(host) + `"`
}

// addVia adds the element of this proxy to Via (RFC 9110 section 7.6.3). protocol
// is the HTTP version that the message was received with.
func (p *Proxy) addVia(to interface{ Add(name, value string) }, protocol []byte) {
	if p.Via != "" {
		to.Add("Via", strings.TrimPrefix(string(protocol), "HTTP/")+" "+p.Via)
	}
}

// setTarget sets the request-target for u and the Host field, from those that the
// client sent.
func (p *Proxy) setTarget(client *gale.RequestCtx, to *gale.RequestHeader, u *upstream) error {
	target := to.RequestURI()
	if len(target) > 0 && target[0] != '/' && string(target) != "*" {
		// The target has a scheme and a host; the host is in Host already (RFC 9112
		// section 3.2.2).
		to.SetRequestURIBytes(originForm(target, client.IsOptions()))
		target = to.RequestURI()
	}
	joined := (u.path != "" || p.StripPrefix != "") && string(target) != "*"
	refused := pathrule.Choose(pathrule.Default, p.StrictPaths, p.RawTargets).HandedOn(door.KeepsSlashes(&client.Request))
	if joined {
		refused |= pathrule.DotSegment
	}
	if pathrule.Find(target)&refused != 0 {
		return ErrPath
	}
	if p.RewriteHost || len(to.Host()) == 0 {
		to.SetHost(u.host)
	}
	if !joined {
		return nil
	}
	path, query := target, []byte(nil)
	if i := bytes.IndexByte(target, '?'); i >= 0 {
		path, query = target[:i], target[i:]
	}
	path, ok := bytes.CutPrefix(path, []byte(strings.TrimRight(p.StripPrefix, "/")))
	if !ok || len(path) > 0 && path[0] != '/' {
		return ErrPrefix
	}
	if len(path) == 0 {
		path = []byte("/")
	}
	to.SetRequestURIBytes(slices.Concat([]byte(u.path), path, query))
	return nil
}

// originForm returns the path and query of a target with scheme and host. OPTIONS
// without a path means the whole server (RFC 9112 section 3.2.4).
func originForm(target []byte, options bool) []byte {
	_, rest, _ := bytes.Cut(target, []byte("://"))
	switch i := bytes.IndexAny(rest, "/?"); {
	case i < 0 && options:
		return []byte("*")
	case i < 0:
		return []byte("/")
	case rest[i] == '?':
		return append([]byte("/"), rest[i:]...)
	default:
		return rest[i:]
	}
}
