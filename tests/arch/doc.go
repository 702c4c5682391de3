// Package arch holds no code. Its tests keep true what ARCHITECTURE.md says of
// who may import whom.
package arch
