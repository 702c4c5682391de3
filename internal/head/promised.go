package head

// Promised is what the head of a message says of the length of the body after it. The writer
// of a body has one, and sends no more than that (RFC 9112 section 6.3): the next byte would
// begin another message.
type Promised struct {
	Left     int64 // bytes that are still due, negative if the head says no length
	exceeded bool
}

// BytesLeft returns p.Left.
func (p *Promised) BytesLeft() int64 { return p.Left }

// Exceeded reports whether more bytes came than the head says, and the others were all sent.
func (p *Promised) Exceeded() bool { return p.exceeded }

// Exceeds reports whether b has more bytes than are due.
func (p *Promised) Exceeds(b []byte) bool { return p.Left >= 0 && int64(len(b)) > p.Left }

// Pass passes the bytes of b that belong to the body to write, and returns what write returns.
// If that is no error, and b has more bytes, Pass returns excess. What write says it has
// written is no longer due.
func (p *Promised) Pass(b []byte, write func([]byte) (int, error), excess error) (n int, err error) {
	part := b
	if p.Exceeds(b) {
		part = b[:p.Left]
	}
	n, err = write(part)
	if p.Left >= 0 {
		p.Left = max(p.Left-int64(n), 0) // write may be the program's, and count wrongly
	}
	if err == nil && len(part) < len(b) {
		p.exceeded, err = true, excess
	}
	return n, err
}
