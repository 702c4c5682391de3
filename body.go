package gale

import (
	"io"
	"math"
	"sync/atomic"

	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/pool"
)

// content is the body of a message, in one of four forms: bytes in a buffer of the
// library, bytes of the caller, a stream to read from, or a function that writes the body
// when it is needed. At most one of bodyRaw, bodyStream and streamWriter is set. body may
// be set too, but is then empty and only kept for reuse.
//
// Request and Response embed it.
type content struct {
	body         *pool.Buf
	bodyRaw      []byte
	bodyStream   io.Reader
	streamWriter StreamWriter
	// shared says that other goroutines read the memory of bodyRaw, such as that of a
	// cache. It is copied before a caller outside of the library gets it.
	shared bool
	// lent says that the program got a slice of body. The memory must then not go back to
	// the pool when the body grows, because the program may read it until the message is
	// reset.
	lent bool
	// readErr is the error of a stream, or of the files of a form, that could not be read
	// to the end. While it is set, bodyRaw isn't nil or there is a form, so that code
	// that replaces the body also clears it.
	readErr error
	// told says that a method has returned readErr to the program. It has a meaning only
	// while readErr is set, and is set together with it.
	told bool
	// loan is what the message belongs to while it is lent, else nil. The buffer is then
	// memory of it.
	loan *lifetime.Loan
}

// keepBody is the largest buffer in bytes that a message keeps when it is
// reset; larger ones go back to the pools.
const keepBody = 4 << 10

// The capacities above which a buffer isn't reused; see SetBodySizePoolLimit.
var requestBodyLimit, responseBodyLimit atomic.Int64

func init() { SetBodySizePoolLimit(-1, -1) }

// SetBodySizePoolLimit sets the largest sizes, in bytes, of request and response body
// buffers that are used again after a message is reset or released. Larger buffers are
// left to the garbage collector. A negative limit, the default, means no limit: buffers
// above 1 MiB can be used again until the next garbage collection, which frees them. The
// limits apply to the whole process and may be changed at any time.
func SetBodySizePoolLimit(reqBodyLimit, respBodyLimit int) {
	for _, l := range []struct {
		to *atomic.Int64
		n  int
	}{{&requestBodyLimit, reqBodyLimit}, {&responseBodyLimit, respBodyLimit}} {
		if l.n < 0 {
			l.n = math.MaxInt
		}
		l.to.Store(int64(l.n))
	}
}

// bodyBuf returns the buffer of the body and makes it if there is none.
func (c *content) bodyBuf() *pool.Buf {
	if c.body == nil {
		c.body = c.newBuf(0)
	}
	return c.body
}

// swapBuf exchanges the buffer of the body, which has one, with *b.
func (c *content) swapBuf(b **pool.Buf) {
	if c.loan != nil {
		c.body.B = append(c.newBuf(len((*b).B)).B, (*b).B...)
		(*b).Reset()
		return
	}
	c.body, *b = *b, c.body
	c.lent = false
}

// bodyBytes returns the bytes of the body, nil for a stream.
func (c *content) bodyBytes() []byte {
	if c.bodyRaw != nil {
		return c.bodyRaw
	}
	if c.body == nil {
		return nil
	}
	return c.body.B
}

// bodyMemory returns how many bytes of memory the body holds that other messages don't
// share.
func (c *content) bodyMemory() (n int) {
	if c.body != nil {
		n = cap(c.body.B)
	}
	if !c.shared {
		n += cap(c.bodyRaw)
	}
	return n
}

// lendBody is bodyBytes for callers outside of the library.
func (c *content) lendBody() []byte {
	if c.shared && c.bodyRaw != nil {
		c.setBody(c.bodyRaw)
	}
	c.lent = true
	if c.body == nil {
		used(c.loan)
	}
	return c.bodyBytes()
}

// hasStream reports whether the body is a stream or a stream writer.
func (c *content) hasStream() bool { return c.bodyStream != nil || c.streamWriter != nil }

// noStream returns false, for a body that isn't a stream.
//
//go:noinline so that IsBodyStream is inlined
func (c *content) noStream() bool {
	used(c.loan)
	return false
}

// setBody replaces the body by a copy of p, which may be a part of it.
func (c *content) setBody(p []byte) {
	c.discard()
	if c.body == nil || len(p) > cap(c.body.B) {
		if lapsed(c.loan) {
			return
		}
		c.room(len(p), false)
	}
	b := c.body
	b.B = b.B[:len(p)]
	copy(b.B, p)
}

func (c *content) setBodyString(s string) {
	c.discard()
	if c.body == nil || len(s) > cap(c.body.B) {
		if lapsed(c.loan) {
			return
		}
		c.room(len(s), false)
	}
	b := c.body
	b.B = b.B[:len(s)]
	copy(b.B, s)
}

// appendBody appends a copy of p, which may be a part of the body, to the buffered body.
// It drops any other form of body first.
func (c *content) appendBody(p []byte) {
	c.discard()
	if c.body == nil && lapsed(c.loan) {
		return
	}
	old := c.room(len(p), true)
	c.body.B = append(c.body.B, p...)
	pool.Put(old)
}

func (c *content) appendBodyString(s string) {
	c.discard()
	if c.body == nil && lapsed(c.loan) {
		return
	}
	old := c.room(len(s), true)
	c.body.B = append(c.body.B, s...)
	pool.Put(old)
}

// room makes room in the buffer for n more bytes, or for n bytes if keep is false. If it
// replaced the buffer's memory and the old memory may go back to the pool, it returns the
// old buffer; the caller puts it back after it has copied what it needs from it.
func (c *content) room(n int, keep bool) (old *pool.Buf) {
	if c.body == nil {
		c.body = c.newBuf(n)
		return nil
	}
	b := c.body
	if keep {
		n += len(b.B)
	}
	if n <= cap(b.B) {
		return nil
	}
	if keep {
		n = max(n, 2*cap(b.B)) // appending stays linear
	}
	c.body = c.newBuf(n)
	if keep {
		c.body.B = append(c.body.B, b.B...)
	}
	if c.lent {
		return nil
	}
	return b
}

// takeBody makes b the buffer of the body, and the buffered bytes in it the body.
func (c *content) takeBody(b *pool.Buf) {
	c.discard()
	if c.loan != nil {
		c.takeLent(b)
		return
	}
	if old := c.body; old != nil && !c.lent {
		pool.Put(old)
	}
	c.body, c.lent = b, false
}

// readAtMost replaces a stream with its bytes, as readStream does, but logs nothing. A
// stream with more than limit bytes gives ErrBodyTooLarge.
func (c *content) readAtMost(limit int64) {
	r := c.stream()
	c.bodyStream, c.lent = nil, false
	b := c.bodyBuf()
	b.Reset()
	n, err := copyStream(b, r, limit+1)
	if n > limit {
		err = ErrBodyTooLarge
	}
	if closeErr := closeBodyStream(r, err); err == nil {
		err = closeErr
	}
	if err != nil {
		c.fail(err)
	}
}

// setBodyRaw makes p itself the body.
func (c *content) setBodyRaw(p []byte) {
	used(c.loan)
	c.discard()
	if c.body != nil {
		c.body.Reset()
	}
	c.bodyRaw, c.shared = p, false
}

// setBodyShared makes p the body. p must not be changed.
func (c *content) setBodyShared(p []byte) {
	c.setBodyRaw(p)
	c.shared = true
}

// setStream makes r the body.
func (c *content) setStream(r io.Reader) {
	c.setBodyRaw(nil)
	c.bodyStream = r
}

// takenReader is the stream of a request's body, which counts the bytes that were read.
type takenReader interface{ Taken() int64 }

// takenOf returns how many bytes of r were read, 0 if that isn't known.
func takenOf(r io.Reader) int64 {
	if s, ok := r.(takenReader); ok {
		return s.Taken()
	}
	return 0
}

// swapBody makes p the buffered body and returns the bytes of the one before.
func (c *content) swapBody(p []byte) []byte {
	used(c.loan)
	if c.hasStream() {
		c.readStream()
		if c.readErr != nil {
			if len(p) > 0 {
				c.bodyRaw = p
			}
			return nil
		}
	}
	c.bodyRaw, c.shared, c.readErr = nil, false, nil
	if c.body == nil {
		c.body = &pool.Buf{Loan: c.loan}
	}
	old := c.body.B
	c.body.B, c.lent = p, false
	return old
}

// readStream replaces a stream with its bytes, after an error with none; see fail.
func (c *content) readStream() {
	r := c.stream()
	c.bodyStream = nil
	c.lent = false
	if wr, ok := r.(wholeReader); ok {
		wr.ReadsWhole()
	}
	b := c.bodyBuf()
	b.Reset()
	_, err := copyBody(b, r)
	if closeErr := closeBodyStream(r, err); err == nil {
		err = closeErr
	}
	if err != nil {
		c.fail(err)
	}
}

// noBytes is the body after an error.
var noBytes = []byte{}

// fail sets the body of a message whose stream could not be read: it is empty, but can't
// be sent, because it would look complete.
func (c *content) fail(err error) {
	_ = c.closeStream(err)
	if c.body != nil {
		c.body.Reset()
	}
	c.bodyRaw, c.readErr, c.told = noBytes, err, false
}

// heard returns readErr and notes that the program got it.
func (c *content) heard() error {
	if c.readErr != nil {
		c.told = true
	}
	return c.readErr
}

// unheard returns readErr if the program hasn't got it yet, else nil.
func (c *content) unheard() error {
	if c.readErr == nil || c.told {
		return nil
	}
	return c.readErr
}

// broken returns why the body must not be sent, or nil.
func (c *content) broken() error {
	if c.readErr != nil && len(c.bodyBytes()) == 0 && !c.hasStream() {
		return c.readErr
	}
	return nil
}

// stream returns the body as a stream, which starts a stream writer; nil if it
// is bytes.
func (c *content) stream() io.Reader {
	if c.streamWriter != nil {
		c.bodyStream = NewStreamReader(c.streamWriter)
		c.streamWriter = nil
	}
	if c.bodyStream == nil {
		used(c.loan)
	}
	return c.bodyStream
}

// lendStream is stream for callers outside of the library.
func (c *content) lendStream() io.Reader {
	c.stream()
	c.useHandle()
	return c.bodyStream
}

// useHandle makes the stream, if it is in memory that other messages will use, a handle for
// this message. It is called before goroutines get the stream that may go on reading when the
// message is over.
func (c *content) useHandle() {
	if l, ok := c.bodyStream.(streamLender); ok {
		c.bodyStream = l.lendStream()
	}
}

// discard drops every form of body except the buffer.
func (c *content) discard() {
	if c.bodyRaw != nil || c.hasStream() {
		c.discardSlow()
	}
}

//go:noinline so that discard is inlined
func (c *content) discardSlow() {
	if c.hasStream() {
		_ = c.closeStream(nil)
	}
	// A closer may have set a body: drop that too.
	c.bodyRaw, c.bodyStream, c.streamWriter = nil, nil, nil
	c.shared, c.readErr = false, nil
}

// closeStream closes and drops the stream; err is the reason, nil for no particular
// reason.
func (c *content) closeStream(err error) error {
	r := c.bodyStream
	c.bodyStream, c.streamWriter = nil, nil
	if r == nil {
		used(c.loan)
		return nil
	}
	return closeBodyStream(r, err)
}

// closeBodyStream closes r if it can be closed, with the reason if r implements
// ReadCloserWithError.
func closeBodyStream(r io.Reader, reason error) (err error) {
	if c, ok := r.(ReadCloserWithError); ok {
		err = c.CloseWithError(reason)
	}
	if c, ok := r.(io.Closer); ok {
		if closeErr := c.Close(); err == nil {
			err = closeErr
		}
	}
	return err
}

// resetContent empties c. It keeps the buffer if keep is set or the buffer is small.
// Otherwise the buffer goes to the pool, unless it is larger than limit bytes.
func (c *content) resetContent(keep bool, limit *atomic.Int64) {
	c.discard()
	c.lent = false
	b := c.body
	if b == nil {
		used(c.loan)
		return
	}
	n := cap(b.B)
	if keep || n <= keepBody {
		b.B = b.B[:0]
		return
	}
	if int64(n) <= limit.Load() {
		pool.Put(b)
	}
	c.body = nil
}

// releaseBody drops the buffer if it is larger than size bytes.
func (c *content) releaseBody(size int) {
	used(c.loan)
	c.bodyRaw, c.shared, c.readErr = nil, false, nil
	if c.body != nil && cap(c.body.B) > size {
		_ = c.closeStream(nil)
		c.body, c.lent = nil, false
	}
}

// copyContent sets dst's body to a copy of c's. A stream is not copied.
func (c *content) copyContent(dst *content) {
	dst.discard()
	if dst.body != nil {
		dst.body.Reset()
	}
	if c.bodyRaw != nil {
		dst.bodyRaw = append(lifetime.Make(dst.loan, len(c.bodyRaw)), c.bodyRaw...)
		dst.readErr, dst.told = c.readErr, false
	} else if b := c.bodyBytes(); len(b) > 0 {
		dst.setBody(b)
	}
}
