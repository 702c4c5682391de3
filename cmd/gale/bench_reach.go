package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/galehttp/gale/cmd/gale/internal/load"
)

// reachTimeout bounds the first connection if -connect-timeout is 0.
const reachTimeout = time.Minute

// reach connects to each server once, and puts the addresses that answered into the plan,
// so that names aren't looked up while requests are measured. Its errors say why a server
// can't be reached.
func (b *bench) reach(ctx context.Context) error {
	b.local = true
	type server struct {
		addr   string
		config *tls.Config
		url    string // of a WebSocket
	}
	reached := map[server]string{} // the address that answered
	for i := range b.plan.Targets {
		t := &b.plan.Targets[i]
		s := server{addr: t.Address, config: t.TLS}
		if b.plan.WebSocket {
			s.url = t.URL
		}
		if addr, ok := reached[s]; ok {
			t.Address = addr
			continue
		}
		conn, err := b.connect(ctx, t)
		if err != nil {
			return whyUnreachable(ctx, err, t, b.urls[i])
		}
		switch {
		case b.plan.WebSocket:
			err = b.upgrade(ctx, conn, t)
		case b.plan.HTTP2 && t.TLS == nil:
			err = b.greet(ctx, conn)
		}
		if err != nil {
			_ = conn.Close()
			return whyUnreachable(ctx, err, t, b.urls[i])
		}
		t.Address = conn.RemoteAddr().String()
		if t.Network == "unix" {
			t.Address = b.cfg.unix
		}
		reached[s] = t.Address
		b.local = b.local && isLocal(conn.RemoteAddr())
		_ = conn.Close()
	}
	return nil
}

// errNoHTTP2 says that a server didn't choose HTTP/2.
var errNoHTTP2 = errors.New("the server doesn't offer HTTP/2")

// greet finds out whether a server without TLS answers the preface of HTTP/2 as HTTP/1.1.
// What else is wrong shows in the run.
func (b *bench) greet(ctx context.Context, conn net.Conn) error {
	_ = conn.SetDeadline(time.Now().Add(b.reachTime()))
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := io.WriteString(conn, preface); err != nil {
		return nil
	}
	begin := make([]byte, len("HTTP/"))
	_, err := io.ReadFull(conn, begin)
	switch {
	case string(begin) == "HTTP/":
		return errNoHTTP2
	case errors.Is(err, os.ErrDeadlineExceeded):
		return err
	}
	return nil
}

// errNoWebSocket wraps the reason why a server doesn't open a WebSocket.
type errNoWebSocket struct{ error }

func (e errNoWebSocket) Unwrap() error { return e.error }

// upgrade finds out whether a server opens a WebSocket.
func (b *bench) upgrade(ctx context.Context, conn net.Conn, t *load.Target) error {
	_ = conn.SetDeadline(time.Now().Add(b.reachTime()))
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	var r load.Request
	t.Source.Fill(&r, 0)
	if err := load.Upgrade(conn, &r.Head); err != nil {
		return errNoWebSocket{err}
	}
	return nil
}

// reachTime is how long a first connection may take.
func (b *bench) reachTime() time.Duration {
	if b.plan.ConnectTimeout == 0 {
		return reachTimeout
	}
	return b.plan.ConnectTimeout
}

// connect returns a connection to a server, after the TLS handshake.
func (b *bench) connect(ctx context.Context, t *load.Target) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, b.reachTime())
	defer cancel()
	var d net.Dialer
	if len(b.plan.Sources) > 0 {
		d.LocalAddr = &net.TCPAddr{IP: b.plan.Sources[0].AsSlice(), Zone: b.plan.Sources[0].Zone()}
	}
	conn, err := d.DialContext(ctx, t.Network, t.Address)
	if err != nil || t.TLS == nil {
		return conn, err
	}
	config := t.TLS.Clone()
	config.NextProtos = []string{"http/1.1"}
	if b.plan.HTTP2 {
		config.NextProtos = []string{"h2"}
	}
	secure := tls.Client(conn, config)
	err = secure.HandshakeContext(ctx)
	if err == nil && b.plan.HTTP2 && secure.ConnectionState().NegotiatedProtocol != "h2" {
		err = errNoHTTP2
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

// whyUnreachable says in one line why a server can't be reached, and what to do.
func whyUnreachable(ctx context.Context, err error, t *load.Target, u *benchURL) error {
	var lookup *net.DNSError
	var plain tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var otherName x509.HostnameError
	var otherKind *net.AddrError
	var invalid x509.CertificateInvalidError
	switch {
	case ctx.Err() != nil:
		return errEnded
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return usagef("there is no host %q: check the spelling", u.host)
	case errors.As(err, &lookup):
		return usagef("can't look up the host %q: %v: use its IP address", u.host, lookup.Err)
	case errors.As(err, &otherKind) && strings.HasPrefix(otherKind.Err, "no suitable address"):
		return usagef("no address of --source can reach %s: one is IPv4, the other IPv6", t.Address)
	case t.Network == "unix" && errors.Is(err, os.ErrNotExist):
		return usagef("there is no socket %q: start the server first", t.Address)
	case errors.Is(err, errRefused):
		return usagef("nothing listens on %s: start the server, or check the address", t.Address)
	case errors.Is(err, os.ErrPermission):
		return usagef("no permission to connect to %s", t.Address)
	case errors.Is(err, errNoHTTP2), strings.Contains(err.Error(), "no application protocol"):
		return usagef("%s doesn't offer HTTP/2: leave --http2 out, or turn HTTP/2 on in the server", t.Address)
	case errors.As(err, &plain):
		return usagef("%s doesn't speak TLS: use %s:// instead of %s://", t.Address, strings.TrimSuffix(u.scheme(), "s"), u.scheme())
	case errors.As(err, &unknown), errors.As(err, &invalid), errors.As(err, &otherName):
		return usagef("the certificate of %s isn't trusted: %v: use --cacert with the certificate that signed it, or --insecure", t.Address, certificateError(err))
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return usagef("%s doesn't answer: check the address, or give it more time by --connect-timeout", t.Address)
	}
	if errors.As(err, new(errNoWebSocket)) {
		return usagef("%s doesn't open a WebSocket: %v: check the path, and what the server asks for", t.URL, err)
	}
	return usagef("can't connect to %s: %v: check the address and the server", t.Address, err)
}

// certificateError returns why a certificate isn't trusted, without what is before it.
func certificateError(err error) error {
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) {
		return verification.Err
	}
	return err
}
