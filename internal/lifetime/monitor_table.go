package lifetime

import (
	"encoding/binary"
	"io"
	"strings"
	"time"
)

// The monitor's file is memory that the process shares with its monitor. It begins with a
// head:
//
//	8 bytes magic, 8 bytes count of spaces, 8 bytes length of the library's path, its path,
//	from headSpaces on for each space: address, size of a chunk, number of chunks, and
//	offset of its table in the file; 8 bytes each
//
// A table has a slot for each chunk:
//
//	8 bytes time of the end in nanoseconds, 0 if the loan lasts; or the index of the run's
//	first chunk
//	2 bytes length of the text, 2 bytes kind of slot, text
//
// Text is Origin.when, a line break, and Origin.from. Numbers are in the byte order of the
// machine. The monitor reads the file after the process has ended, possibly in the middle
// of a change.
const (
	tableMagic = "galelife"
	headSpaces = 512
	spaceBytes = 32
	headBytes  = 4096
	maxSpaces  = (headBytes - headSpaces) / spaceBytes

	slotBytes = 512
	slotText  = 12
	slotFirst = 1 // kinds of slots: the first chunk of a run
	slotMore  = 2 // another chunk of a run
)

var order = binary.NativeEndian

// spaceTable is the table of a space.
type spaceTable struct{ slots []byte }

func (t *spaceTable) slot(i int) []byte { return t.slots[i*slotBytes:][:slotBytes] }

// begin notes who owns a run of chunks.
func (t *spaceTable) begin(from *Origin, first, n int) {
	s := t.slot(first)
	order.PutUint64(s, 0)
	length := copy(s[slotText:], from.when())
	length += copy(s[slotText+length:], "\n")
	length += copy(s[slotText+length:], from.from())
	order.PutUint16(s[8:], uint16(length))
	order.PutUint16(s[10:], slotFirst)
	for i := first + 1; i < first+n; i++ {
		s := t.slot(i)
		order.PutUint64(s, uint64(first))
		order.PutUint16(s[10:], slotMore)
	}
}

// end notes when the loan of a run ended.
func (t *spaceTable) end(first int, now time.Time) {
	order.PutUint64(t.slot(first), uint64(now.UnixNano()))
}

// putHead writes the head of a file without spaces.
func putHead(head []byte, library string) {
	copy(head, tableMagic)
	n := copy(head[24:headSpaces], library)
	order.PutUint64(head[16:], uint64(n))
}

// putSpace adds a space to the head.
func putSpace(head []byte, s *space, offset int64) bool {
	n := order.Uint64(head[8:])
	if n >= maxSpaces {
		return false
	}
	at := head[headSpaces+n*spaceBytes:]
	order.PutUint64(at, uint64(s.base))
	order.PutUint64(at[8:], uint64(s.chunk))
	order.PutUint64(at[16:], uint64(len(s.owners)))
	order.PutUint64(at[24:], uint64(offset))
	order.PutUint64(head[8:], n+1)
	return true
}

// readHead returns the head of a file, and the library's path.
func readHead(f io.ReaderAt) (head []byte, library string, ok bool) {
	head = make([]byte, headBytes)
	if n, _ := f.ReadAt(head, 0); n < headBytes || string(head[:8]) != tableMagic {
		return nil, "", false
	}
	n := min(order.Uint64(head[16:]), headSpaces-24)
	return head, string(head[24 : 24+n]), true
}

// slotOf is what a file says about an address.
type slotOf struct {
	when, from string
	ended      time.Time // zero if the loan lasts
}

// readSlot finds the loan of an address. ours tells whether the address is of any space.
func readSlot(f io.ReaderAt, head []byte, addr uint64) (s slotOf, ours bool) {
	for i := range min(order.Uint64(head[8:]), maxSpaces) {
		at := head[headSpaces+i*spaceBytes:]
		base, chunk, n, offset := order.Uint64(at), order.Uint64(at[8:]), order.Uint64(at[16:]), order.Uint64(at[24:])
		if chunk == 0 || addr-base >= chunk*n {
			continue
		}
		slot := make([]byte, slotBytes)
		index := (addr - base) / chunk
		for range 2 {
			if m, _ := f.ReadAt(slot, int64(offset+index*slotBytes)); m < slotBytes {
				return s, true
			}
			if order.Uint16(slot[10:]) != slotMore {
				break
			}
			index = min(order.Uint64(slot), n-1)
		}
		if order.Uint16(slot[10:]) != slotFirst {
			return s, true
		}
		length := min(int(order.Uint16(slot[8:])), slotBytes-slotText)
		s.when, s.from, _ = strings.Cut(string(slot[slotText:slotText+length]), "\n")
		if ended := int64(order.Uint64(slot)); ended > 0 {
			s.ended = time.Unix(0, ended)
		}
		return s, true
	}
	return s, false
}
