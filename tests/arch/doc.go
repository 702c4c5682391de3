// Package arch contains only tests. They check the import rules and the tables of
// ARCHITECTURE.md, which modules a program with this library needs, that calls.txt says for
// each call of user code how a panic is handled, and that no test gets more sleeps or failures
// without words than baretests.txt allows.
package arch
