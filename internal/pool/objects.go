//go:build !randompools

package pool

import "sync"

// Pool is a sync.Pool. With the build tag randompools, for tests, it is a pool
// that returns a random one of the objects that were put into it.
type Pool = sync.Pool

// checksPuts says whether a second Put of the same object panics.
const checksPuts = false
