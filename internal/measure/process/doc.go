// Package process watches a server's process, the generator's own, and the machine while a
// load test runs. It reads /proc, so most of it works on Linux only; elsewhere what isn't
// known is -1 or empty.
//
// # What a process used
//
// The figures of a process are sums over it and its descendants, as they are found at each
// look: a server that forks workers counts whole if it is given by the pid of its first
// process. Memory that processes share counts once for each. What a descendant used between
// the last look and its end is lost.
//
// CPU time is that of the kernel's clock of each process, in nanoseconds, with the threads
// that have ended. The time that threads waited for a core is known for each thread until
// its end, at the precision of the last look.
//
// A look reads a few small files per thread. It doesn't touch the process.
package process
