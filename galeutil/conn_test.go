package galeutil

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type end interface {
	net.Conn
	CloseWrite() error
}

func ends(t testing.TB) (a, b end) {
	pc := NewPipeConns()
	t.Cleanup(func() { pc.Close() })
	return pc.Conn1().(end), pc.Conn2().(end)
}

func wantRead(t *testing.T, c net.Conn, want string, wantErr error) {
	t.Helper()
	b := make([]byte, 64)
	n, err := c.Read(b)
	if string(b[:n]) != want || err != wantErr {
		t.Errorf("read %q, %v, want %q, %v", b[:n], err, want, wantErr)
	}
}

func wantWrite(t *testing.T, c net.Conn, s string, wantErr error) {
	t.Helper()
	n, err := io.WriteString(c, s)
	if err != wantErr || (err == nil) != (n == len(s)) {
		t.Errorf("wrote %d bytes, %v, want %v", n, err, wantErr)
	}
}

// What was written before a Close is still read; then there is EOF.
func TestClose(t *testing.T) {
	a, b := ends(t)
	wantWrite(t, a, "to b", nil)
	wantWrite(t, b, "to a", nil)
	if n := a.(interface{ Buffered() int }).Buffered(); n != 4 {
		t.Errorf("%d bytes are buffered", n)
	}
	for range 2 {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	wantRead(t, a, "to a", nil)
	wantRead(t, a, "", io.EOF)
	wantRead(t, b, "to b", nil)
	wantRead(t, b, "", io.EOF)
	wantRead(t, b, "", io.EOF)
	wantWrite(t, a, "x", ErrConnectionClosed)
	wantWrite(t, b, "x", ErrConnectionClosed)
	if err := a.SetDeadline(time.Now()); err != ErrConnectionClosed {
		t.Errorf("deadline of a closed end: %v", err)
	}
	if err := b.SetReadDeadline(time.Now()); err != nil {
		t.Errorf("deadline of the open end: %v", err)
	}
}

func TestCloseWrite(t *testing.T) {
	a, b := ends(t)
	wantWrite(t, a, "question", nil)
	if err := a.CloseWrite(); err != nil {
		t.Error(err)
	}
	wantWrite(t, a, "x", ErrConnectionClosed)
	wantRead(t, b, "question", nil)
	wantRead(t, b, "", io.EOF)
	wantWrite(t, b, "answer", nil)
	wantRead(t, a, "answer", nil)
	if err := a.CloseWrite(); err != ErrConnectionClosed {
		t.Error(err)
	}
}

func TestEmpty(t *testing.T) {
	a, _ := ends(t)
	if n, err := a.Read(nil); n != 0 || err != nil {
		t.Error("Read of nothing:", n, err)
	}
	wantWrite(t, a, "", nil)
}

// Errors mean to package net and os what they mean here.
func TestErrors(t *testing.T) {
	for _, err := range []error{ErrConnectionClosed, ErrInmemoryListenerClosed} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v is not net.ErrClosed", err)
		}
	}
	var ne net.Error
	if err := error(ErrTimeout); !errors.As(err, &ne) || !ne.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("ErrTimeout is no timeout")
	}
}

// Closing either end wakes all goroutines that wait at it, reading and writing.
func TestCloseWakes(t *testing.T) {
	for _, own := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			a, b := ends(t)
			got := make(chan error, 2)
			go func() {
				_, err := a.Read(make([]byte, 1))
				got <- err
			}()
			go func() {
				_, err := a.Write(make([]byte, 1))
				for err == nil {
					_, err = a.Write(make([]byte, 30<<10))
				}
				got <- err
			}()
			synctest.Wait()
			c := a
			if !own {
				c = b
			}
			c.Close()
			if x, y := <-got, <-got; !(x == io.EOF && y == ErrConnectionClosed || y == io.EOF && x == ErrConnectionClosed) {
				t.Errorf("own %t: got %v and %v", own, x, y)
			}
		})
	}
}

func TestReadDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := ends(t)
		start := time.Now()
		a.SetReadDeadline(start.Add(time.Second))
		wantRead(t, a, "", ErrTimeout)
		wantRead(t, a, "", ErrTimeout)
		if d := time.Since(start); d != time.Second {
			t.Errorf("timed out after %v", d)
		}
		wantWrite(t, b, "x", nil)
		wantRead(t, a, "x", nil) // it has arrived: no need to wait
		// Moved away and back while a read waits.
		a.SetReadDeadline(time.Time{})
		done := make(chan struct{})
		go func() {
			wantRead(t, a, "", ErrTimeout)
			close(done)
		}()
		synctest.Wait()
		start = time.Now()
		a.SetReadDeadline(start.Add(time.Second))
		a.SetReadDeadline(start.Add(3 * time.Second))
		time.Sleep(2 * time.Second)
		select {
		case <-done:
			t.Error("the old deadline counts")
		default:
		}
		a.SetReadDeadline(start.Add(2500 * time.Millisecond))
		<-done
		if d := time.Since(start); d != 2500*time.Millisecond {
			t.Errorf("timed out after %v", d)
		}
	})
}

// A writer whose other end doesn't read blocks after 64 KiB, but not within the first
// four writes, until its deadline or until there is room.
func TestWriteBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := ends(t)
		big := make([]byte, 1<<20)
		for range maxWrites {
			if n, err := a.Write(big); n != len(big) || err != nil {
				t.Fatal(n, err)
			}
		}
		a.SetWriteDeadline(time.Now().Add(time.Minute))
		wantWrite(t, a, "x", ErrTimeout)
		wantWrite(t, a, "x", ErrTimeout)
		a.SetWriteDeadline(time.Time{})
		go wantWrite(t, a, "end", nil)
		synctest.Wait()
		got := make([]byte, maxWrites<<20+3)
		if _, err := io.ReadFull(b, got); err != nil || string(got[len(got)-3:]) != "end" {
			t.Errorf("read %q, %v", got[len(got)-3:], err)
		}
		writes := 0
		for a.SetWriteDeadline(time.Now().Add(time.Minute)); ; writes++ {
			if _, err := a.Write(big[:1<<10]); err != nil {
				break
			}
		}
		if writes != 64 {
			t.Errorf("%d KiB were taken, want 64", writes)
		}
	})
}

// Bytes arrive whole and in order whatever the sizes of writes and reads are.
func TestStream(t *testing.T) {
	a, b := ends(t)
	src := make([]byte, 4<<20)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(src)
	r := rand.New(rng)
	sizes := func() int { return 1 + r.IntN(1<<r.IntN(18)) }
	var writes []int
	for n := len(src); n > 0; {
		w := min(sizes(), n)
		writes = append(writes, w)
		n -= w
	}
	go func() {
		rest := src
		for _, n := range writes {
			if _, err := a.Write(rest[:n]); err != nil {
				t.Error(err)
			}
			rest = rest[n:]
		}
		a.Close()
	}()
	var got []byte
	buf := make([]byte, 1<<18)
	for {
		n, err := b.Read(buf[:sizes()])
		got = append(got, buf[:n]...)
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
	}
	if !bytes.Equal(got, src) {
		t.Error("the bytes differ")
	}
}

// Several readers and writers at one connection: no byte is lost or doubled.
func TestConcurrent(t *testing.T) {
	a, b := ends(t)
	var writers, readers sync.WaitGroup
	const perWriter = 20_000
	for i := range 4 {
		writers.Go(func() {
			for range perWriter / 10 {
				a.Write(bytes.Repeat([]byte{byte(i)}, 10))
			}
		})
	}
	var mu sync.Mutex
	count := map[byte]int{}
	for range 4 {
		readers.Go(func() {
			buf := make([]byte, 33)
			for {
				n, err := b.Read(buf)
				mu.Lock()
				for _, x := range buf[:n] {
					count[x]++
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	writers.Wait()
	a.Close()
	readers.Wait()
	for i := range 4 {
		if n := count[byte(i)]; n != perWriter {
			t.Errorf("%d of %d bytes arrived", n, perWriter)
		}
	}
}

func TestAddresses(t *testing.T) {
	pc := NewPipeConns()
	if a := pc.Conn1().LocalAddr(); a.Network() != "pipe" || a.String() != "pipe" {
		t.Error(a.Network(), a)
	}
	x, y := &net.TCPAddr{Port: 1}, &net.TCPAddr{Port: 2}
	pc.SetAddresses(x, y, y, nil)
	c1, c2 := pc.Conn1(), pc.Conn2()
	if c1.LocalAddr() != x || c1.RemoteAddr() != y || c2.LocalAddr() != y || c2.RemoteAddr().String() != "pipe" {
		t.Error(c1.LocalAddr(), c1.RemoteAddr(), c2.LocalAddr(), c2.RemoteAddr())
	}
}
