// Command schedfuzz runs the project's tests with small random delays before each operation
// that synchronizes goroutines. A wake-up that is lost if one side is late is lost then, and a
// test that hopes for an order fails.
//
//	go run ./scripts/schedfuzz
//	go run ./scripts/schedfuzz -packages "ws reverse" -seeds "1 2 3 4" -rough
//	go run ./scripts/schedfuzz -packages internal/engine -run Wake -seeds 3 -count 20
//
// It writes copies of the library's sources with calls of package delay (tests/overlay), builds
// each test binary with them, and runs each test in a process of its own, so that one that hangs
// hides no other. Nothing in the tree changes. A failure is printed with the command that repeats
// it, and the exit status is 1.
//
// A seed chooses at which operations delays are frequent, and the same seed chooses the same ones
// again while they keep their names. Whether a single call is delayed is random: a failure comes
// again with its seed, but not each time (-count 10, or more). To be sure that an operation must
// not be late, delay each call of it, for a time in microseconds:
//
//	GALE_DELAY_AT='event_share.go#regain#Load=3000' go run ./scripts/schedfuzz -seeds 0 -packages . -run ServerModel
//
// An operation is named FILE#FUNCTION#OPERATION, such as
// internal/engine/event_share.go#eventConn.regain#Load, with #2 for the second, and so on;
// -sites lists the names. FILE may lack folders, FUNCTION the receiver, and the end of a name may
// be left out. Several are separated by commas. A name that no test reaches is an error.
//
// In bubbles of testing/synctest there are no sleeps: the goroutine only yields. These tests are
// left out: those of files that the race detector excludes (//go:build !race), since what it
// distorts, delays distort too, and those of the list omitted, each with a reason.
package main
