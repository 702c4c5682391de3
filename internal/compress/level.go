package compress

// The default levels of the codings.
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

	// numLevels is large enough for the levels of each coding, counted from its
	// lowest.
	numLevels = maxFlateLevel - minFlateLevel + 1
)

// DefaultLevel means the default level of each coding.
const DefaultLevel = -1

// ZstdLevel returns the zstd level that corresponds to the given gzip level.
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

// index returns level, or the coding's default if it is out of range, and its index
// in the coding's pools.
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
