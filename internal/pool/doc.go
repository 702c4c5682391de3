// Package pool keeps byte buffers for reuse, sorted by size, and defines [Pool],
// the type of the pools for all other objects.
//
// Sizes are powers of two from [MinSize] to [MaxSize]. Each size class has a pool
// of its own, so that a small message never keeps the memory of a large one. The
// garbage collector empties classes that aren't used: the buffers of a burst are
// gone after two collections. Larger buffers are in a list that doesn't keep them: the
// next collection takes those that aren't in use.
//
// No function here should be called with a length that a peer only declared: a
// caller asks for the bytes that it already has, and [Buf.ReadFrom] grows with the
// bytes that arrive. [StepTo] and [Room] say how much memory such a length is worth
// while the bytes arrive.
package pool
