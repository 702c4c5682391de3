package lifetime

import (
	"strconv"
	"strings"
)

// faultPanic is what the panic says that Go makes of a fault. After another panic, the text
// may have the address of a fault that was recovered before.
const faultPanic = "invalid memory address or nil pointer dereference"

// crash is what the text of a crash says about a fault.
type crash struct {
	addr   uint64
	caller string // where it happened, outside of the library; empty if not found
}

// parseCrash finds the fault in what Go prints when a process ends by one. It returns false
// for other ends.
func parseCrash(text, library string) (c crash, ok bool) {
	head, stack, _ := strings.Cut(text, "\ngoroutine ")
	at := strings.LastIndex(head, " addr=0x")
	if at < 0 {
		return c, false
	}
	digits := head[at+len(" addr=0x"):]
	if i := strings.IndexAny(digits, " ]\n"); i >= 0 {
		digits = digits[:i]
	}
	addr, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return c, false
	}
	stack, _, _ = strings.Cut(stack, "\n\n")
	if _, below, ok := strings.Cut(stack, "\n"+sigpanic+"("); ok {
		stack = below
	} else if !strings.Contains(head, faultPanic) { // the stack of a panic begins where it happened
		return c, false
	}
	return crash{addr, crashCaller(stack, library)}, true
}

// crashCaller returns the first frame that is a program's.
func crashCaller(stack, library string) (caller string) {
	lines := strings.Split(stack, "\n")
	for i := 0; i+1 < len(lines); i++ {
		where, isPlace := strings.CutPrefix(lines[i+1], "\t")
		paren := strings.LastIndexByte(lines[i], '(')
		if !isPlace || paren <= 0 || strings.HasPrefix(lines[i], "created by ") {
			continue
		}
		where, _, _ = strings.Cut(where, " ")
		function := lines[i][:paren]
		file := where[:max(0, strings.LastIndexByte(where, ':'))]
		here := function + " (" + where + ")"
		if kindOf(function, file, library) == ofProgram {
			return here
		}
		if caller == "" {
			caller = here
		}
	}
	return caller
}
