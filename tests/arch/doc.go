// Package arch holds no code. Its tests keep true what ARCHITECTURE.md says of
// who may import whom, and calls.txt of what survives the panics of users' functions.
package arch
