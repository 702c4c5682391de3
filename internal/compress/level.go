package compress

// The levels that every coding understands as its own usual one.
const (
	DefaultFlateLevel  = 6 // gzip and deflate: -2 (Huffman only), 0 (stored) to 9
	DefaultBrotliLevel = 4 // br: 0 to 11
	DefaultZstdLevel   = 2 // zstd: 1 (fastest) to 4
)

const (
	minFlateLevel  = -2
	maxFlateLevel  = 9
	minBrotliLevel = 0
	maxBrotliLevel = 11
	minZstdLevel   = 1
	maxZstdLevel   = 4

	// numLevels is enough for each coding's levels, counted from its lowest.
	numLevels = maxFlateLevel - minFlateLevel + 1
)

// DefaultLevel stands for the usual level of each coding.
const DefaultLevel = -1

// ZstdLevel returns the zstd level that is to zstd what the given level is to
// gzip.
func ZstdLevel(flateLevel int) int {
	switch {
	case flateLevel < minFlateLevel, flateLevel > maxFlateLevel:
		return DefaultZstdLevel
	case flateLevel <= 1:
		return minZstdLevel
	case flateLevel <= DefaultFlateLevel:
		return DefaultZstdLevel
	}
	return DefaultZstdLevel + 1
}

// index returns level, or the coding's default if it is out of range, and its
// place in the coding's pools.
func index(c Coding, level int) (valid, i int) {
	lo, hi, usual := minFlateLevel, maxFlateLevel, DefaultFlateLevel
	switch c {
	case Brotli:
		lo, hi, usual = minBrotliLevel, maxBrotliLevel, DefaultBrotliLevel
	case Zstd:
		lo, hi, usual = minZstdLevel, maxZstdLevel, DefaultZstdLevel
	}
	if level < lo || level > hi || level == DefaultLevel {
		level = usual
	}
	return level, level - lo
}
