package gale

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/pool"
)

// StreamWriter writes a body to w, piece by piece. What it writes is buffered; w.Flush
// sends the bytes so far, and the head of the message before them, also if nothing was written
// yet. For that the buffer holds one byte that isn't sent, until the first Flush: w.Buffered()
// counts it. StreamWriter must return when w returns an error, because the body is no
// longer read then. After it has returned, w returns errors only.
type StreamWriter func(w *bufio.Writer)

// BodyWriterTo is a body stream that says whether its WriteTo may be used in place of
// Read. The method WriteTo alone doesn't say that: a type that embeds a reader to change
// its Read inherits a WriteTo that bypasses the new Read.
//
// SupportsBodyWriteTo must return true only if WriteTo does all that Read does. For
// streams that don't implement BodyWriterTo, WriteTo is used where a body is copied
// unchanged. In a chunked body, where the bytes of each Read become a chunk, only the
// WriteTo of *bytes.Reader, *bytes.Buffer and *strings.Reader is used.
type BodyWriterTo interface {
	io.WriterTo
	SupportsBodyWriteTo() bool
}

// ReadCloserWithError is a body stream that gets a reason when it is closed. The streams
// of received bodies implement it. If such a stream is closed with an error, its
// connection isn't used again.
//
// When the library no longer needs a stream, it calls CloseWithError, with nil if there
// was no error, and then Close if the stream has that method too.
type ReadCloserWithError interface {
	io.Reader
	CloseWithError(err error) error
}

// wholeReader is a body stream with a method that is called before all of it is read into
// memory, so that it can set a limit.
type wholeReader interface{ ReadsWhole() }

// formReader is a body stream that has a limit for forms: in bytes, 0 for the
// default, negative for none.
type formReader interface{ StreamedFormLimit() int64 }

// limitedReader is a body stream that has a limit for reading it whole: the handler's
// limit, or else the server's. It is above 0.
type limitedReader interface{ WholeLimit() int64 }

// streamLender is a body stream in memory that other messages will use. lendStream returns a
// handle for this message, which is the stream from now on.
type streamLender interface{ lendStream() io.Reader }

// trailerSource is a source of trailers (see head.Trailers.Expect) in memory that other messages will
// use. lender returns a handle for this message.
type trailerSource interface{ lender() door.TrailerLender }

// fileRanger is a body stream that is a range of a file: n bytes from offset off. The
// server sends it with sendfile where it can. It uses explicit offsets and not the file's
// position, because f may be shared. f stays open until the stream is closed.
type fileRanger interface {
	fileRange() (f *os.File, off, n int64, ok bool)
}

// NewStreamReader returns a reader for what sw writes. sw starts at once in its own
// goroutine. Its writes block while it is more than 128 KiB ahead of the reader. If it
// panics, the reader gets what was flushed before and then an [ErrBodyStreamWritePanic].
// The result belongs to the caller.
//
// The reader must be read to its end or closed. Any goroutine may call Close, at any time
// and more than once. It makes writes of sw fail with io.ErrClosedPipe; then sw must
// return. The reader can still read after Close what was written before.
//
// The reader is also a net.Conn that can only be read from. SetReadDeadline limits how
// long a Read waits.
func NewStreamReader(sw StreamWriter) io.ReadCloser { return &streamConn{newStreamPipe(sw)} }

// NewBoundedStreamReader is [NewStreamReader] with a reader that implements
// [BodyWriterTo] and not net.Conn. In fasthttp only this function limits how many bytes
// it holds; in Gale both do. The result belongs to the caller.
func NewBoundedStreamReader(sw StreamWriter) io.ReadCloser { return newStreamPipe(sw) }

const (
	// pipeBlock is the size in bytes to which a block of a pipe grows.
	pipeBlock = 32 << 10
	// pipeBlocks is how many blocks a pipe can hold, in addition to the one that the
	// reader holds.
	pipeBlocks = 4
)

// streamPipe carries what a StreamWriter writes, in its goroutine, to the reader of the
// body. One goroutine reads at a time; any may call Close.
type streamPipe struct {
	mu       sync.Mutex
	canRead  sync.Cond
	canWrite sync.Cond
	queue    [pipeBlocks]*pool.Buf
	n        int   // blocks in queue
	ended    bool  // the writer returned
	err      error // the writer's error
	closed   bool
	heads    bool        // the writer was flushed before its first byte, and WriteTo must tell it
	late     bool        // the deadline of the reader has passed
	timer    *time.Timer // of that deadline, or nil

	// block is the block that the reader took out of the queue, off how many bytes of it
	// were read. Both belong to the reader.
	block *pool.Buf
	off   int
}

func newStreamPipe(sw StreamWriter) *streamPipe {
	p := &streamPipe{}
	p.canRead.L, p.canWrite.L = &p.mu, &p.mu
	go p.run(sw)
	return p
}

var errStreamWriterExit = errors.New("gale: stream writer ended its goroutine")

// run runs the writer and tells the reader when it has ended, in whatever way.
func (p *streamPipe) run(sw StreamWriter) {
	panicOnFault()
	err := errStreamWriterExit
	defer func() {
		if v := recover(); v != nil {
			err = panicError((*guard)(nil).lateUse(v, nil))
		}
		p.mu.Lock()
		p.ended, p.err = true, err
		p.canRead.Broadcast()
		p.mu.Unlock()
	}()
	_ = callStreamWriter(sw, pipeWriter{p}, bufio.NewWriter(nil)) // fails only if the reader has gone
	err = nil
}

// panicError returns the error for a panic with v while a body was written.
func panicError(v any) error {
	const text = "panic while writing body stream: "
	if err, ok := v.(error); ok {
		return &ErrBodyStreamWritePanic{fmt.Errorf(text+"%w", err)}
	}
	return &ErrBodyStreamWritePanic{fmt.Errorf(text+"%v", v)}
}

// pipeWriter is the writing side of a pipe.
type pipeWriter struct{ p *streamPipe }

func (w pipeWriter) Write(b []byte) (n int, err error) {
	p := w.p
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		tail := p.tail()
		for tail == nil && !p.closed {
			p.canWrite.Wait()
			tail = p.tail()
		}
		if p.closed {
			return n, io.ErrClosedPipe
		}
		k := min(len(b), pipeBlock-len(tail.B))
		_, _ = tail.Write(b[:k])
		b, n = b[k:], n+k
		p.canRead.Signal()
	}
	if p.closed {
		return n, io.ErrClosedPipe
	}
	return n, nil
}

// FlushHead implements door.HeadFlusher. It doesn't wait for the reader.
func (w pipeWriter) FlushHead() error {
	p := w.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return io.ErrClosedPipe
	}
	p.heads = true
	p.canRead.Signal()
	return nil
}

// tail returns the block to write to, or nil if all are full.
func (p *streamPipe) tail() *pool.Buf {
	if p.n > 0 && len(p.queue[p.n-1].B) < pipeBlock {
		return p.queue[p.n-1]
	}
	if p.n == pipeBlocks {
		return nil
	}
	b := pool.Get(0)
	p.queue[p.n] = b
	p.n++
	return b
}

// errHeads says that there are no bytes yet, but the head should be sent.
var errHeads = errors.New("gale: the head of a stream should be sent")

// next makes sure that the reader holds a block with unread bytes. It waits for one if it
// must. If no more will come, it returns io.EOF or the error of the stream. If heads is true, it
// returns errHeads, once, when the writer was flushed before its first byte.
func (p *streamPipe) next(heads bool) error {
	if p.block != nil {
		if p.off < len(p.block.B) {
			return nil
		}
		pool.Put(p.block)
		p.block, p.off = nil, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.n == 0 {
		switch {
		case p.closed:
			return io.EOF
		case p.ended && p.err != nil:
			return p.err
		case p.ended:
			return io.EOF
		case p.late:
			return os.ErrDeadlineExceeded
		case heads && p.heads:
			p.heads = false
			return errHeads
		}
		p.canRead.Wait()
	}
	p.block, p.heads = p.queue[0], false // the bytes bring the head along
	p.n--
	copy(p.queue[:], p.queue[1:p.n+1])
	p.queue[p.n] = nil
	p.canWrite.Signal()
	return nil
}

// ready reports whether the reader would get bytes without waiting.
func (p *streamPipe) ready() bool {
	if p.block != nil && p.off < len(p.block.B) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n > 0
}

// Read reads what sw has written, and waits if there is nothing to read.
func (p *streamPipe) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if err := p.next(false); err != nil {
		return 0, err
	}
	n := copy(b, p.block.B[p.off:])
	p.off += n
	return n, nil
}

// boundedWriter is a writer for a body of known length. It takes only as many bytes as
// are left.
type boundedWriter interface{ BytesLeft() int64 }

// WriteTo writes all unread bytes to w, or, if w is a boundedWriter, as many as it takes.
// After an error of w, reading continues after the bytes that w took.
func (p *streamPipe) WriteTo(w io.Writer) (sum int64, err error) {
	bounded, _ := w.(boundedWriter)
	head, heads := w.(door.HeadFlusher)
	for {
		if bounded != nil && bounded.BytesLeft() == 0 {
			return sum, nil // the next bytes may never come
		}
		err := p.next(heads)
		if err == errHeads {
			if err = head.FlushHead(); err == nil {
				continue
			}
		}
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return sum, err
		}
		n, err := w.Write(p.block.B[p.off:])
		p.off += n
		sum += int64(n)
		if err != nil {
			return sum, err
		}
		if p.off < len(p.block.B) {
			return sum, io.ErrShortWrite
		}
	}
}

// SupportsBodyWriteTo returns true; see BodyWriterTo.
func (p *streamPipe) SupportsBodyWriteTo() bool { return true }

// Close makes later writes of the StreamWriter fail. See NewStreamReader.
func (p *streamPipe) Close() error {
	p.mu.Lock()
	p.closed = true
	p.stopTimer()
	p.canRead.Broadcast()
	p.canWrite.Broadcast()
	p.mu.Unlock()
	return nil
}

// streamConn is the reader of a pipe as a net.Conn, because that is what NewStreamReader
// returns in fasthttp: programs set a deadline on it, or pass it to code for connections.
// It doesn't implement BodyWriterTo, but the library uses the pipe's WriteTo anyway.
type streamConn struct{ p *streamPipe }

var _ net.Conn = (*streamConn)(nil)

// Read reads what sw has written, and waits if there is nothing to read.
func (c *streamConn) Read(b []byte) (int, error) { return c.p.Read(b) }

// WriteTo writes all unread bytes to w; see streamPipe.
func (c *streamConn) WriteTo(w io.Writer) (int64, error) { return c.p.WriteTo(w) }

// Close makes later writes of the StreamWriter fail. See NewStreamReader.
func (c *streamConn) Close() error { return c.p.Close() }

var errStreamOneWay = errors.New("gale: a stream reader can't be written to")

// Write returns an error, because the other end doesn't read.
func (c *streamConn) Write([]byte) (int, error) { return 0, errStreamOneWay }

// LocalAddr and RemoteAddr return an address whose network and text are "pipe".
func (c *streamConn) LocalAddr() net.Addr  { return streamAddr{} }
func (c *streamConn) RemoteAddr() net.Addr { return streamAddr{} }

type streamAddr struct{}

func (streamAddr) Network() string { return "pipe" }
func (streamAddr) String() string  { return "pipe" }

// SetDeadline does what SetReadDeadline does.
func (c *streamConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline does nothing, because nothing can be written.
func (c *streamConn) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline sets the time after which a Read that waits returns
// os.ErrDeadlineExceeded. The zero time means never. It may be called while a Read waits.
func (c *streamConn) SetReadDeadline(t time.Time) error {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopTimer()
	if t.IsZero() || p.closed {
		return nil
	}
	left := time.Until(t)
	if left <= 0 {
		p.late = true
		p.canRead.Broadcast()
		return nil
	}
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.timer == timer { // else the deadline was changed in the meantime
			p.late = true
			p.canRead.Broadcast()
		}
	})
	p.timer = timer
	return nil
}

// stopTimer removes the deadline of a pipe; mu is held.
func (p *streamPipe) stopTimer() {
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer, p.late = nil, false
}
