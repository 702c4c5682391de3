// Package arch has no code. Its tests check what ARCHITECTURE.md says about which package
// may import which, that calls.txt lists the calls of users' functions and what recovers
// from their panics, and that the examples in package comments compile.
package arch
