package wsframe

import "github.com/galehttp/gale/internal/pool"

// window is the end of what was compressed or inflated so far: the bytes that the next
// message may refer to. Its memory comes from a pool and is not larger than needed. The
// zero value is empty and stays so, because its size is 0.
type window struct {
	size int
	buf  *pool.Buf
}

// bytes returns the window. It is valid until the next call of add or free.
func (w *window) bytes() []byte {
	if w.buf == nil {
		return nil
	}
	return w.buf.B
}

// add appends p and drops what precedes the last size bytes.
func (w *window) add(p []byte) {
	if w.size == 0 || len(p) == 0 {
		return
	}
	if len(p) > w.size {
		p = p[len(p)-w.size:]
	}
	if w.buf == nil {
		w.buf = pool.Get(len(p))
	}
	old := w.buf.B
	if drop := len(old) + len(p) - w.size; drop > 0 {
		w.buf.B = old[:copy(old, old[drop:])]
	}
	w.buf.Grow(len(p))
	w.buf.B = append(w.buf.B, p...)
}

// free empties the window and gives its memory back.
func (w *window) free() {
	pool.Put(w.buf)
	w.buf = nil
}
