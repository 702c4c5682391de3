package gale

import (
	"bufio"
	"io"
	"os"
)

// StreamWriter writes a body to w, piece by piece. What it writes is buffered;
// it calls w.Flush when the bytes so far should go out. It must return when w
// returns an error: the body is no longer read then.
type StreamWriter func(w *bufio.Writer)

// BodyWriterTo is a body stream that says whether its WriteTo may be used in
// the place of Read. WriteTo alone doesn't say that, since a type that embeds
// a reader to change its Read inherits a WriteTo that goes around it.
//
// SupportsBodyWriteTo must return true only if WriteTo does all that Read does.
// For other streams WriteTo is used where a body is copied as it is; for the
// chunked coding, where what Read returns becomes a chunk, only that of
// *bytes.Reader, *bytes.Buffer and *strings.Reader.
type BodyWriterTo interface {
	io.WriterTo
	SupportsBodyWriteTo() bool
}

// ReadCloserWithError is a body stream that can be told why it isn't read on. The streams
// of received bodies implement it: closed with an error, the connection that they came
// from isn't used again.
//
// When the library is done with a stream it calls CloseWithError, with nil for
// a reason if all went well, and then Close if the stream has that too.
type ReadCloserWithError interface {
	io.Reader
	CloseWithError(err error) error
}

// wholeReader is a body stream that wants to know when all of it will be read
// into memory, to bound that.
type wholeReader interface{ ReadsWhole() }

// formReader is a body stream that has a limit for forms: in bytes, 0 for the
// default, negative for none.
type formReader interface{ StreamedFormLimit() int64 }

// limitedReader is a body stream that has a limit for those who read it whole: that of
// the handler, or else that of the server. It is above 0.
type limitedReader interface{ WholeLimit() int64 }

// fileRanger is a body stream that is a run of bytes of a file. The server
// sends it with sendfile where it can: n bytes from offset off, by explicit offsets,
// since f may be shared and its position must not be used. f stays open until the stream
// is closed.
type fileRanger interface {
	fileRange() (f *os.File, off, n int64, ok bool)
}

// NewStreamReader returns a reader of what sw writes. sw runs at once in a
// goroutine of its own, and waits when it is more than 128 KiB ahead of the
// reader. If it panics, the reader gets what was flushed before and then an
// [ErrBodyStreamWritePanic].
//
// The reader must be read to its end or closed, which may happen at any time,
// from any goroutine and more than once: it makes writes of sw fail with
// io.ErrClosedPipe, upon which sw must return. What was written before Close
// can still be read after it.
//
// The reader is a net.Conn, too, which can be read from only: with SetReadDeadline
// a Read doesn't wait longer than that.
func NewStreamReader(sw StreamWriter) io.ReadCloser { return &streamConn{newStreamPipe(sw)} }

// NewBoundedStreamReader is [NewStreamReader] whose reader is a [BodyWriterTo]
// and no net.Conn. In fasthttp only this one bounds what it holds.
func NewBoundedStreamReader(sw StreamWriter) io.ReadCloser { return newStreamPipe(sw) }
