package compress

import (
	"bufio"
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipDecoder decodes members of gzip (RFC 1952 section 2.2) one after the other. Other than
// gzip.Reader, it gives out the last bytes of a member before it reads anything of the next one,
// for which a sender of events may take any time.
type gzipDecoder struct {
	z     gzip.Reader
	src   byteReader
	own   *bufio.Reader // src, if what is read has no ReadByte; nil before the first use
	ended bool          // the member has ended
}

// byteReader is what gzip.Reader reads no byte too much from.
type byteReader interface {
	io.Reader
	io.ByteReader
}

// Reset makes d decode r. It returns io.EOF if r has no bytes.
func (d *gzipDecoder) Reset(r io.Reader) error {
	src, ok := r.(byteReader)
	switch {
	case !ok && d.own == nil:
		d.own = bufio.NewReader(r)
	case !ok:
		d.own.Reset(r)
	case d.own != nil:
		d.own.Reset(nil)
	}
	if !ok {
		src = d.own
	}
	d.src = src
	return d.next()
}

// next begins the next member. It returns io.EOF if there is none.
func (d *gzipDecoder) next() error {
	d.ended = false
	err := d.z.Reset(d.src)
	d.z.Multistream(false)
	return err
}

func (d *gzipDecoder) Read(p []byte) (int, error) {
	for {
		if d.ended {
			if err := d.next(); err != nil {
				return 0, err
			}
		}
		n, err := d.z.Read(p)
		if err != io.EOF {
			return n, err
		}
		d.ended = true
		if n > 0 || len(p) == 0 {
			return n, nil
		}
	}
}
