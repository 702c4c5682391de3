package msg

import (
	"encoding/binary"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Known is a known name in words of eight bytes, so that names can be compared without a
// loop. It has lower-case words, and masks with 0x20 at the place of each letter, which
// are or-ed to the words of the name to compare. Only letters are folded, so that a CR
// never equals a hyphen, which differs from it by 0x20.
type Known struct {
	// First and Last are the first and the last eight bytes of the name. For a
	// name of less than eight bytes both are the name with zeros after it.
	First, FirstFold uint64
	Last, LastFold   uint64
	ID               ID
	Len              uint8
	// mid are the words at 8 and at Len-16 of a name longer than 16 bytes.
	mid, midFold [2]uint64
}

// knownMul makes knownSlot free of collisions over the names (a test checks).
const knownMul = 0x22aaa227376731c1

const spaces = 0x2020202020202020

// knownSlot hashes a name of n bytes by its first and last words; see Known. It folds
// case by |0x20 on all bytes. So names that differ in bytes other than letters may have
// the same slot, but are found to be different later.
func knownSlot(first, last uint64, n int) uint8 {
	return uint8(((first | spaces) + (last | spaces) + uint64(n)) * knownMul >> 56)
}

var knownTable = func() (t [256]Known) {
	for i := range t {
		t[i].First = 1 // no name of Len 0 has this word
	}
	for id := Host; id < numIDs; id++ {
		k := newKnown(id)
		t[knownSlot(k.First, k.Last, int(k.Len))] = k
	}
	return t
}()

func newKnown(id ID) Known {
	name := bytesconv.AppendLower(nil, id.Name())
	fold := make([]byte, max(len(name), 8))
	for i, c := range name {
		if 'a' <= c && c <= 'z' {
			fold[i] = 0x20
		}
	}
	k := Known{ID: id, Len: uint8(len(name))}
	for len(name) < 8 {
		name = append(name, 0)
	}
	end := len(name)
	k.First, k.FirstFold = wordAt(name, 0), wordAt(fold, 0)
	k.Last, k.LastFold = wordAt(name, end-8), wordAt(fold, end-8)
	if end > 16 {
		k.mid = [2]uint64{wordAt(name, 8), wordAt(name, end-16)}
		k.midFold = [2]uint64{wordAt(fold, 8), wordAt(fold, end-16)}
	}
	return k
}

func wordAt(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// Candidate returns the only known name that a name of n bytes with these first and last
// words (see Known) can be. The caller must compare the words and, for names of more than
// 16 bytes, call Mid. The parser uses it because it already has the words.
func Candidate(first, last uint64, n int) *Known { return &knownTable[knownSlot(first, last, n)] }

// Mid reports whether the bytes of a name between First and Last are those of
// k. The name has k.Len bytes.
func (k *Known) Mid(name []byte) bool {
	n := len(name)
	return n <= 16 || n <= 32 &&
		wordAt(name, 8)|k.midFold[0] == k.mid[0] && wordAt(name, n-16)|k.midFold[1] == k.mid[1]
}
