package gale

// bodyFactor bounds how much more memory a body that is being collected takes than has
// arrived of it.
const bodyFactor = 8

// bodyCap returns the capacity, in bytes, for the buffer of a body of which has bytes have
// arrived. The peer has announced total bytes, and an announcement alone gets no memory:
// the capacity is at most bodyFactor times has, or least if that is more, or twice has.
//
// A buffer grows in steps to total: from an eighth of it, which it reaches from a 64th,
// and so on. So all steps together copy a seventh of a long body.
func bodyCap(has, least int, total int64) int {
	most := max(bodyFactor*int64(has), int64(least), 1)
	c := total
	for c > most {
		c = c/bodyFactor + 1
	}
	return int(max(c, min(max(2*int64(has), int64(least)), total)))
}
