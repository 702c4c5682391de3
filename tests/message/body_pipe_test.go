package message

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
)

func TestStreamReaderGivesWhatWasWritten(t *testing.T) {
	want := strings.Repeat("0123456789abcdef", 40_000)
	for _, step := range []int{1, 100, 4096, 5000, 70_000} {
		r := gale.NewStreamReader(func(w *bufio.Writer) {
			for rest := want; rest != ""; {
				n := min(step, len(rest))
				_, _ = w.WriteString(rest[:n])
				rest = rest[n:]
				if len(rest)%7 == 0 {
					_ = w.Flush()
				}
			}
		})
		got, err := io.ReadAll(r)
		if err != nil || string(got) != want {
			t.Fatalf("step %d: %d bytes, %v", step, len(got), err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStreamReaderCloseWakesReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		r := gale.NewStreamReader(func(*bufio.Writer) { <-stop })
		done := make(chan error, 1)
		go func() {
			_, err := r.Read(make([]byte, 1))
			done <- err
		}()
		synctest.Wait()
		_ = r.Close()
		_ = r.Close()
		if err := <-done; err != io.EOF {
			t.Fatalf("waiting Read got %v", err)
		}
		close(stop)
	})
}

// shortWriter takes n bytes and then fails.
type shortWriter struct {
	bytes.Buffer
	n   int
	err error
}

func (w *shortWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.n)
	w.n -= n
	w.Buffer.Write(p[:n])
	if n < len(p) {
		return n, w.err
	}
	return n, nil
}

func TestStreamReaderResumesAfterFailedWriteTo(t *testing.T) {
	want := strings.Repeat("x1y2", 30_000)
	for _, werr := range []error{nil, io.ErrUnexpectedEOF} {
		r := gale.NewStreamReader(func(w *bufio.Writer) { _, _ = w.WriteString(want) }).(io.WriterTo).(interface {
			io.Reader
			io.WriterTo
		})
		w := &shortWriter{n: 40_001, err: werr}
		n, err := r.WriteTo(w)
		if n != 40_001 || werr == nil && err != io.ErrShortWrite || werr != nil && err != werr {
			t.Fatalf("WriteTo: %d, %v", n, err)
		}
		rest, err := io.ReadAll(r)
		if err != nil || w.String()+string(rest) != want {
			t.Fatalf("%v: the rest doesn't follow what was taken", err)
		}
	}
}

func TestStreamReaderLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		for range 20 {
			r := gale.NewStreamReader(func(w *bufio.Writer) {
				for {
					if _, err := w.WriteString("data: 1\n\n"); err != nil {
						return
					}
					if err := w.Flush(); err != nil {
						return
					}
				}
			})
			_, _ = r.Read(make([]byte, 3))
			_ = r.Close()
		}
	})
}

// The reader of NewStreamReader has the deadlines of a net.Conn: one ends a Read that
// waits, and has no effect after it was removed.
func TestStreamReaderIsConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		more := make(chan bool)
		r := gale.NewStreamReader(func(w *bufio.Writer) {
			_, _ = w.WriteString("first")
			_ = w.Flush()
			<-more
			_, _ = w.WriteString("second")
		})
		c := r.(net.Conn)
		if _, ok := r.(gale.BodyWriterTo); ok {
			t.Error("it is a BodyWriterTo, which has nothing to do with connections")
		}
		if c.LocalAddr().Network() != "pipe" || c.RemoteAddr().String() != "pipe" {
			t.Error(c.LocalAddr(), c.RemoteAddr())
		}
		if _, err := c.Write([]byte("x")); err == nil {
			t.Error("written to nobody")
		}
		b := make([]byte, 10)
		_ = c.SetDeadline(time.Now().Add(time.Second))
		if n, err := c.Read(b); string(b[:n]) != "first" || err != nil {
			t.Fatalf("%q, %v", b[:n], err)
		}
		for _, when := range []time.Duration{time.Second, -time.Second, time.Minute} {
			_ = c.SetReadDeadline(time.Now().Add(when))
			if n, err := c.Read(b); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("%v: %q, %v", when, b[:n], err)
			}
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		_ = c.SetReadDeadline(time.Time{})
		go func() {
			time.Sleep(time.Hour) // by the clock of the bubble
			more <- true
		}()
		if n, err := c.Read(b); string(b[:n]) != "second" || err != nil {
			t.Fatalf("without a deadline: %q, %v", b[:n], err)
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Hour))
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
