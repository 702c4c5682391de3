package router

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/galehttp/gale/internal/bytesconv"
)

// fixed finds the routes of a tree that have no wildcards by their whole paths, in one step. It is there
// only if a third of the routes of the tree, or more, are such. The hash reads at most 24 bytes of a path;
// paths that are alike there are next to each other, and compared.
type fixed struct {
	slots   []uint16 // 1 + the index in routes, 0 for none; a power of two
	routes  []fixedRoute
	lengths uint64 // the bit n is set if there is a path of n bytes, or of n more than a multiple of 64
	shift   uint8
}

type fixedRoute struct {
	path  string // canonical
	route *Route
}

// Limits of fixed: fewer routes are found as fast in the tree.
const (
	minFixed = 4
	maxFixed = 1 << 14
	// maxAlike is how many slots are looked at. Routes with more paths before them that are alike are in the tree.
	maxAlike = 32
)

// newFixed returns a table for n routes without wildcards among all, nil if they are too few.
func newFixed(n, all int) *fixed {
	if n < minFixed || n > maxFixed || n*3 < all {
		return nil
	}
	size := bits.Len(uint(n)*4 - 1) // at most a quarter of the slots are taken
	return &fixed{slots: make([]uint16, 1<<size), routes: make([]fixedRoute, 0, n), shift: uint8(64 - size)}
}

// add adds a route with a canonical path, unless there is a narrower one of the same path. It returns false if there
// are too many others that are alike.
func (x *fixed) add(path []byte, r *Route) bool {
	at, alike := x.hash(path), 0
	for ; x.slots[at] != 0; at = (at + 1) & (len(x.slots) - 1) {
		if old := &x.routes[x.slots[at]-1]; old.path == string(path) {
			old.route = cmp.Or(old.route, r)
			return true
		}
		if alike++; alike == maxAlike {
			return false
		}
	}
	f := fixedRoute{route: r}
	if where := r.match.Pattern[r.match.Host:]; strings.HasPrefix(where, bytesconv.B2S(path)) {
		f.path = where[:len(path)] // which is in memory anyway
	} else {
		f.path = string(path)
	}
	x.lengths |= 1 << (len(path) & 63)
	x.routes = append(x.routes, f)
	x.slots[at] = uint16(len(x.routes))
	return true
}

// hash returns where the search for path begins.
func (x *fixed) hash(path []byte) int {
	var h uint64
	n := len(path)
	switch {
	case n >= 16:
		h = binary.LittleEndian.Uint64(path[n-8:]) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(path[n-16:]), 23) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(path[n/2-4:]), 41)
	case n >= 8:
		h = binary.LittleEndian.Uint64(path[n-8:]) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(path[0:]), 23)
	default:
		for i := range n {
			h = h<<8 | uint64(path[i])
		}
	}
	const odd = 0x9e3779b97f4a7c15
	h = (h ^ uint64(n)) * odd
	return int((h ^ h>>29) * odd >> x.shift)
}

// find returns the route of a path, or nil.
func (x *fixed) find(path []byte) *Route {
	if x.lengths>>(len(path)&63)&1 == 0 {
		return nil
	}
	for at := x.hash(path); x.slots[at] != 0; at = (at + 1) & (len(x.slots) - 1) {
		if r := &x.routes[x.slots[at]-1]; r.path == string(path) {
			return r.route
		}
	}
	return nil
}
