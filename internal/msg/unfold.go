package msg

import (
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Unfold joins the values of the Folded fields: each line end, with the whitespace around
// it, becomes one space (RFC 9112 section 5.2). The joined values are appended to the
// arena, because Raw must stay as received.
func (f *Fields) Unfold() {
	room := 0
	for i := range f.Recs {
		if r := &f.Recs[i]; r.Flags&Folded != 0 {
			room += int(r.ValLen)
		}
	}
	if room == 0 {
		return
	}
	f.Grow(room)
	for i := range f.Recs {
		r := &f.Recs[i]
		if r.Flags&Folded == 0 {
			continue
		}
		off := len(f.Buf)
		f.Buf = appendUnfolded(f.Buf, f.Value(i))
		from, to := bytesconv.TrimRange(f.Buf, off, len(f.Buf))
		f.waste += int(r.ValLen)
		r.ValOff, r.ValLen = uint32(from), uint32(to-from)
		r.Flags &^= Folded
	}
}

func appendUnfolded(dst, v []byte) []byte {
	for {
		n := bytes.IndexByte(v, '\n')
		if n < 0 {
			return append(dst, v...)
		}
		end := n
		if end > 0 && v[end-1] == '\r' {
			end--
		}
		_, end = bytesconv.TrimRange(v, 0, end)
		dst = append(dst, v[:end]...)
		dst = append(dst, ' ')
		from, _ := bytesconv.TrimRange(v, n+1, len(v))
		v = v[from:]
	}
}
