package h1

import (
	"slices"

	"github.com/galehttp/gale/internal/msg"
)

const crlf = '\r' | '\n'<<8

// fastFields parses common field lines from s.Line on: complete ones, with one space or
// none before the value and none after it, and without HTAB. It stops at the first line
// that is different. That is not an error: parseFields handles such lines, more slowly.
// done is true after the empty line.
//
// It reads words of eight bytes, which may include bytes between len(b) and cap(b). These
// bytes don't affect the result.
func fastFields(b []byte, s *msg.Scan, f *msg.Fields, maxFields int) (done bool) {
	e := b[:cap(b)]
	line, recs, room := s.Line, f.Recs, maxFields-len(f.Recs)
lines:
	for line >= 0 && line <= len(e)-8 {
		// The name and its colon.
		w := word(e[line : line+8 : line+8])
		if uint16(w) == crlf {
			if line+2 <= len(b) {
				line += 2
				done = true
			}
			break
		}
		n, last := 0, w // the length of the name, and its last eight bytes
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
					i += first(m)
					break
				}
				i += 8
			}
			n = i - line
			last = word(e[i-8 : i : i])
		}
		id := msg.Unknown
		k := msg.Candidate(w, last, n)
		if w|k.FirstFold == k.First && last|k.LastFold == k.Last && int(k.Len) == n && (n <= 16 || k.Mid(e[line:line+n])) {
			id = k.ID
		} else if n > msg.MaxNameLen || !isName(e[line:line+n]) {
			break
		}

		// The value.
		from := line + n + 1
		if from < len(e) && e[from] == ' ' {
			from++
		}
		end := from
		for {
			if end > len(e)-8 {
				break lines
			}
			w = word(e[end : end+8 : end+8])
			if m := notText(w); m != 0 {
				end += first(m)
				break
			}
			end += 8
		}
		if end+2 > len(b) || end+2 > len(e) || room == 0 {
			break
		}
		if e[end] != '\r' || e[end+1] != '\n' || end > from && (e[from] == ' ' || e[end-1] == ' ') {
			break
		}
		room--
		recs = extend(recs)
		setRecord(&recs[len(recs)-1], id, line, n, from, end)
		line = end + 2
	}
	s.Line = line
	s.Dups |= f.Adopt(recs)
	return done
}

// setRecord makes r the record of a field whose name has n bytes from line on, and whose value is at
// from up to end. It sets each field of r: a record that is built on the stack and then copied would
// stall the processor.
func setRecord(r *msg.Field, id msg.ID, line, n, from, end int) {
	r.NameOff, r.NameLen = uint32(line), uint16(n)
	r.ValOff, r.ValLen = uint32(from), uint32(end-from)
	r.ID, r.Flags = id, 0
}

// extend appends a record, which the caller sets.
func extend(recs []msg.Field) []msg.Field {
	if len(recs) == cap(recs) {
		recs = slices.Grow(recs, 16)
	}
	return recs[:len(recs)+1]
}
