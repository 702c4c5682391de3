package gale

import "io"

// ReadCloserWithError is a body stream that can be told why nobody wants to
// read on. The streams of received bodies implement it: closed with an error,
// the connection that they came from isn't used again.
type ReadCloserWithError interface {
	io.Reader
	CloseWithError(err error) error
}
