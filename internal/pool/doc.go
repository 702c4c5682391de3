// Package pool keeps byte buffers for reuse, sorted by size.
//
// Sizes are powers of two from [MinSize] to [MaxSize]. Each class has a pool
// of its own, so that a small message never pins the memory of a large one,
// and the garbage collector empties classes that nobody uses: what a burst
// left behind is gone after two collections. Buffers above MaxSize are plain
// allocations and never kept.
//
// Nothing here allocates by a length that somebody declared: a caller asks
// for what it has in hand, and [Buf.ReadFrom] grows with what arrived.
package pool
