package gale

import (
	"bufio"
	"io"
	"os"

	"github.com/galehttp/gale/internal/door"
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
