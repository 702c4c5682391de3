package h1

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

const crlf = '\r' | '\n'<<8

// fastFields parses the field lines that look as nearly all do, from s.Line
// on: complete, with one space or none before the value and none behind it, and
// without HTAB. It stops at the first other line, which is not an error, but
// what parseFields does slowly. It is done behind the empty line.
//
// It looks at words of eight bytes and may look at bytes between len(b) and
// cap(b), but what they are makes no difference.
func fastFields(b []byte, s *msg.Scan, base int, f *msg.Fields, maxFields int) (done bool) {
	e := b[:cap(b)]
	recs := f.Recs
	seen, dups := f.Index.Seen, s.Dups
	line := s.Line
lines:
	for line >= 0 && line <= len(e)-16 {
		// The name and its colon.
		w := word(e[line : line+8 : line+8])
		if uint16(w) == crlf {
			if line+2 <= len(b) {
				line += 2
				done = true
			}
			break
		}
		var n int // length of the name
		last := w
		if m := equal(w, ':'); m != 0 {
			n = first(m)
			w &= 1<<(uint(n)*8) - 1
			last = w
		} else {
			i := line + 8
			for {
				if i > len(e)-8 {
					break lines
				}
				if m := equal(word(e[i:i+8:i+8]), ':'); m != 0 {
					n = i + first(m) - line
					break
				}
				i += 8
			}
			i = line + n - 8
			last = word(e[i : i+8 : i+8])
		}
		id := msg.Unknown
		k := msg.Candidate(w, last, n)
		if w|k.FirstFold == k.First && last|k.LastFold == k.Last && int(k.Len) == n && (n <= 16 || k.Mid(e[line:line+n])) {
			id = k.ID
		} else if n > msg.MaxNameLen || !bytesconv.IsToken(e[line:line+n]) {
			break
		}

		// The value.
		from := line + n + 1
		if e[from] == ' ' {
			from++
		}
		end := from
		for {
			if end > len(e)-8 {
				break lines
			}
			if m := notText(word(e[end : end+8 : end+8])); m != 0 {
				end += first(m)
				break
			}
			end += 8
		}
		if end+2 > len(b) || e[end] != '\r' || e[end+1] != '\n' ||
			end > from && (e[from] == ' ' || e[end-1] == ' ') || len(recs) >= maxFields {
			break
		}
		bit := uint64(1) << (id & 63)
		if seen&bit == 0 {
			f.Index.First[id&63] = uint16(len(recs))
		} else {
			dups |= bit
		}
		seen |= bit
		recs = append(recs, msg.Field{
			NameOff: uint32(line + base),
			ValOff:  uint32(from + base),
			ValLen:  uint32(end - from),
			NameLen: uint16(n),
			ID:      id,
		})
		line = end + 2
	}
	s.Line, s.Dups = line, dups
	f.Recs, f.Index.Seen = recs, seen
	return done
}
