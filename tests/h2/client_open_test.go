package h2

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestOpenStream proves that Gale's client and server open streams, that data goes both ways,
// that either side can end first, and that nothing is left.
func TestOpenStream(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs, taken := harness.TunnelServer(t, way, &gale.Server{})
		c := harness.OpenClient(hs)
		open := func() (client, server net.Conn) {
			t.Helper()
			resp := &gale.Response{}
			nc, err := c.OpenStream(context.Background(), harness.ConnectRequest("/taken"), resp)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { nc.Close() })
			if resp.StatusCode() != 200 || string(resp.Header.Peek("X-Field")) != "v" || len(resp.Body()) != 0 {
				t.Errorf("the response is %v", resp)
			}
			return nc, peers.GetTaken(t, taken)
		}
		nc, sc := open()
		if nc.RemoteAddr().String() != hs.Addr || nc.LocalAddr().String() != sc.RemoteAddr().String() {
			t.Errorf("the addresses are %v and %v", nc.LocalAddr(), nc.RemoteAddr())
		}
		if tc, ok := nc.(interface{ ConnectionState() tls.ConnectionState }); ok != way.TLS || ok && tc.ConnectionState().NegotiatedProtocol != "h2" {
			t.Errorf("the stream has TLS: %v", ok)
		}
		for range 3 {
			peers.Put(t, nc, "to the server")
			peers.Want(t, sc, "to the server")
			peers.Put(t, sc, "to the client")
			peers.Want(t, nc, "to the client")
		}
		if n := c.PendingRequests(); n != 1 {
			t.Errorf("%d requests are pending", n)
		}
		peers.Put(t, nc, "last")
		peers.Check(t, nc.(interface{ CloseWrite() error }).CloseWrite())
		if _, err := nc.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write after CloseWrite: %v", err)
		}
		peers.Want(t, sc, "last")
		peers.WantEOF(t, sc)
		peers.Put(t, sc, "still")
		peers.Check(t, sc.Close())
		peers.Want(t, nc, "still")
		peers.WantEOF(t, nc)
		peers.Check(t, nc.Close())
		if err := nc.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a second Close: %v", err)
		}
		peers.WantStreams(t, hs.S, 0)

		nc, sc = open() // the client closes, with bytes that it hasn't read
		peers.Put(t, sc, "unread")
		peers.Put(t, nc, "bye")
		peers.Check(t, nc.Close())
		peers.Want(t, sc, "bye")
		peers.WantEOF(t, sc)
		peers.Check(t, sc.Close())
		peers.WantStreams(t, hs.S, 0)

		nc, sc = open() // a MiB each way at once
		big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		done := make(chan error, 4)
		for _, end := range []net.Conn{nc, sc} {
			go func() {
				_, err := end.Write(big)
				done <- err
			}()
			go func() {
				got := make([]byte, len(big))
				_, err := io.ReadFull(end, got)
				if err == nil && !bytes.Equal(got, big) {
					err = errors.New("the bytes differ")
				}
				done <- err
			}()
		}
		for range 4 {
			peers.Check(t, <-done)
		}
		other, peer := open() // a reader that stops holds up no other stream
		go func() {
			_, err := nc.Write(append(big, big...))
			done <- err
		}()
		peers.Put(t, other, "others go on")
		peers.Want(t, peer, "others go on")
		peers.Put(t, peer, "both ways")
		peers.Want(t, other, "both ways")
		got := make([]byte, 2*len(big))
		_, err := io.ReadFull(sc, got)
		peers.Check(t, err)
		peers.Check(t, <-done)
		for _, end := range []net.Conn{nc, sc, other, peer} {
			peers.Check(t, end.Close())
		}
		peers.WantStreams(t, hs.S, 0)

		resp := &gale.Response{}
		if nc, err := c.OpenStream(context.Background(), harness.ConnectRequest("/forbidden"), resp); nc != nil || err != gale.ErrStreamRefused || resp.StatusCode() != 403 || string(resp.Body()) != "not you" {
			t.Errorf("a refusal: %v, %v, %v", nc, err, resp)
		}
		peers.WantStreams(t, hs.S, 0)
		req := &gale.Request{}
		req.SetRequestURI("/plain")
		req.Header.SetHost("a.test")
		peers.Check(t, c.Do(req, resp))
		if string(resp.Body()) != `GET "" /plain a.test` {
			t.Errorf("the next request got %q", resp.Body())
		}
		if n := c.PendingRequests(); n != 0 {
			t.Errorf("%d requests are pending at the end", n)
		}
	})
}

// TestConnectProtocolStored proves that the protocol is copied and forgotten with its request.
func TestConnectProtocolStored(t *testing.T) {
	req, dst := harness.ConnectRequest("/a"), &gale.Request{}
	req.CopyTo(dst)
	if dst.ConnectProtocol() != "websocket" || !dst.Header.IsConnect() {
		t.Errorf("a copy has %q", dst.ConnectProtocol())
	}
	if dst.Reset(); dst.ConnectProtocol() != "" {
		t.Errorf("after Reset it is %q", dst.ConnectProtocol())
	}
	if (&gale.Request{}).CopyTo(req); req.ConnectProtocol() != "" {
		t.Errorf("a copy of an ordinary request has %q", req.ConnectProtocol())
	}
}

// TestOpenStreamRefused proves which errors come from servers and requests that can't open
// streams.
func TestOpenStreamRefused(t *testing.T) {
	ctx := context.Background()
	plain := harness.H2Way{Engine: gale.EngineBlock, TLS: true}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {}})
	c := harness.OpenClient(plain)
	if _, err := c.OpenStream(ctx, harness.ConnectRequest("/"), nil); err != gale.ErrNoExtendedConnect {
		t.Errorf("without the setting: %v", err)
	}
	c.HTTP2 = gale.HTTP2Off
	if _, err := (&gale.HostClient{Addr: plain.Addr, IsTLS: true, HTTP2: gale.HTTP2Off, TLSConfig: &tls.Config{InsecureSkipVerify: true}}).OpenStream(ctx, harness.ConnectRequest("/"), nil); err != gale.ErrNoExtendedConnect {
		t.Errorf("with HTTP/1.1 only: %v", err)
	}
	old := harness.H2Way{Engine: gale.EngineBlock, TLS: true}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {}, HTTP2: gale.HTTP2Config{Mode: gale.HTTP2Off}})
	auto := &gale.HostClient{Addr: old.Addr, IsTLS: true, HTTP2: gale.HTTP2On, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	for range 2 {
		if _, err := auto.OpenStream(ctx, harness.ConnectRequest("/"), nil); err != gale.ErrNoExtendedConnect {
			t.Errorf("a server of HTTP/1.1: %v", err)
		}
	}
	if n := auto.PendingRequests(); n != 0 {
		t.Errorf("%d requests are pending", n)
	}
	auto.CloseIdleConnections()
	if _, err := c.OpenStream(ctx, &gale.Request{}, nil); fmt.Sprint(err) != "gale: OpenStream needs a request with SetConnectProtocol" {
		t.Errorf("without a protocol: %v", err)
	}
	if err := auto.Do(harness.ConnectRequest("/"), &gale.Response{}); fmt.Sprint(err) != "gale: an extended CONNECT is sent with OpenStream" {
		t.Errorf("Do: %v", err)
	}
	if err := (&gale.PipelineClient{Addr: old.Addr, IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}}).Do(harness.ConnectRequest("/"), &gale.Response{}); fmt.Sprint(err) != "gale: an extended CONNECT is sent with OpenStream" {
		t.Errorf("Do of a pipeline: %v", err)
	}
	if text := harness.ConnectRequest("/chat").String(); !strings.HasPrefix(text, "CONNECT /chat HTTP/1.1\r\n") {
		t.Errorf("String returns %q", text)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.OpenStream(gone, harness.ConnectRequest("/"), nil); err != context.Canceled {
		t.Errorf("a context that has ended: %v", err)
	}
}
