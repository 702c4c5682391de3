// Package arch contains only tests. They check the import rules of ARCHITECTURE.md, and
// that calls.txt says for each call of user code how a panic is handled.
package arch
