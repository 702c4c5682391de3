package galeutil

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
)

func TestDialAndAccept(t *testing.T) {
	ln := NewInmemoryListener()
	ln.SetLocalAddr(&net.TCPAddr{Port: 80})
	client := &net.TCPAddr{Port: 40000}
	go func() {
		c, err := ln.DialWithLocalAddr(client)
		if err != nil {
			t.Error(err)
			return
		}
		if c.LocalAddr() != client || c.RemoteAddr() != ln.Addr() {
			t.Error(c.LocalAddr(), c.RemoteAddr())
		}
		io.WriteString(c, "hello")
		c.Close()
	}()
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if c.LocalAddr() != ln.Addr() || c.RemoteAddr() != client {
		t.Error(c.LocalAddr(), c.RemoteAddr())
	}
	if b, err := io.ReadAll(c); string(b) != "hello" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// Closing the listener ends all that wait at it; a dial that isn't accepted can be
// cancelled.
func TestListenerClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := NewInmemoryListener()
		errs := make(chan error)
		dial := func() {
			_, err := ln.Dial()
			errs <- err
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		why := errors.New("why")
		cancel(why)
		if _, err := ln.DialContext(ctx, "", ""); err != why {
			t.Error(err)
		}
		go dial()
		synctest.Wait()
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
		if err := <-errs; err != ErrInmemoryListenerClosed {
			t.Error("a dial that waits:", err)
		}
		go func() {
			_, err := ln.Accept()
			errs <- err
		}()
		if err := <-errs; err != ErrInmemoryListenerClosed {
			t.Error("accept:", err)
		}
		go dial()
		if err := <-errs; err != ErrInmemoryListenerClosed {
			t.Error("a dial after it:", err)
		}
		if err := ln.Close(); err != ErrInmemoryListenerClosed {
			t.Error("a second Close:", err)
		}
	})
}

// The listener serves those who know nothing of it.
func TestNetHTTP(t *testing.T) {
	ln := NewInmemoryListener()
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) // whole: HTTP/1 is half-duplex to net/http
		w.Write(b)
	})}
	go s.Serve(ln)
	defer s.Close()
	tr := &http.Transport{DialContext: ln.DialContext}
	defer tr.CloseIdleConnections()
	for range 3 {
		pr, pw := io.Pipe()
		go func() {
			pw.Write(make([]byte, 1<<20))
			pw.Close()
		}()
		resp, err := (&http.Client{Transport: tr}).Post("http://any/", "text/plain", pr)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(resp.Body); len(b) != 1<<20 || err != nil {
			t.Error(len(b), err)
		}
		resp.Body.Close()
	}
}
