// Package lifetime finds uses of objects and bytes after their owner took them back: after
// a handler has returned, or after a release to a pool.
//
// A Guard samples requests and begins a Loan for each that it guards. Objects of such a
// request have a pointer to its Loan, and their bytes are in memory of the Loan. At its
// end the owner empties the objects, and End overwrites the memory. A method of an empty
// object finds nothing and then calls Use, which reports. Renew ends the memory before that:
// the objects go on, with other memory.
//
// On Linux the memory can be on pages of its own (space.go, pages_linux.go). End makes
// them unreadable, so that a use of kept bytes faults. Fault turns such a fault, which a
// goroutine of the library has recovered, into a Use. In other goroutines a fault ends the
// process. A second process (monitor_linux.go, monitor_child_linux.go) then reads the text
// of the crash and adds to it which request the bytes belonged to.
//
// The package logs nothing and knows neither HTTP nor the types that use it.
package lifetime
