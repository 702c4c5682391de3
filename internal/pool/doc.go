// Package pool keeps byte buffers for reuse, sorted by size, and names the pools
// that all other objects are kept in, see [Pool].
//
// Sizes are powers of two from [MinSize] to [MaxSize]. Each class has a pool
// of its own, so that a small message never pins the memory of a large one,
// and the garbage collector empties classes that aren't used: the buffers of a burst are
// gone after two collections. Buffers above MaxSize are plain allocations and never kept.
//
// Nothing here allocates by a declared length: a caller asks
// for what it has in hand, and [Buf.ReadFrom] grows with what arrived.
package pool
