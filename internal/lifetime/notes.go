package lifetime

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	maxNotes  = 4
	maxTries  = 16 // calls of Use of which the stack is looked at
	noteDepth = 24
)

// notes are stacks of calls of Use while a loan lasts: the first few that differ.
type notes struct {
	tries  atomic.Int32
	mu     sync.Mutex
	stacks [][]uintptr
}

// add notes the stack of the caller of Loan.Use, unless there are enough.
func (n *notes) add() {
	if n.tries.Load() >= maxTries || n.tries.Add(1) > maxTries {
		return
	}
	var pcs [noteDepth]uintptr
	stack := pcs[:runtime.Callers(3, pcs[:])]
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.stacks {
		if slices.Equal(s, stack) {
			return
		}
	}
	if n.stacks = append(n.stacks, slices.Clone(stack)); len(n.stacks) == maxNotes {
		n.tries.Store(maxTries)
	}
}

// best returns the text of the most useful stack, nil if there is none: the first that has
// the function handler, else the first that has a function outside of the library.
func (n *notes) best(library, handler string) []byte {
	n.mu.Lock()
	stacks := slices.Clone(n.stacks)
	n.mu.Unlock()
	var first []byte
	for _, s := range stacks {
		text, has := stackText(s, library, handler)
		if has {
			return text
		}
		if first == nil {
			first = text
		}
	}
	return first
}

// stackText returns the stack without the library's frames at both ends, except the method
// that the program called. It returns nil if all frames are the library's. has tells
// whether handler is among them.
func stackText(pcs []uintptr, library, handler string) (text []byte, has bool) {
	var all []runtime.Frame
	for it := runtime.CallersFrames(pcs); ; {
		f, more := it.Next()
		if f.Function != "" {
			all = append(all, f)
		}
		if !more {
			break
		}
	}
	isProgram := func(f runtime.Frame) bool { return kindOf(f.Function, f.File, library) == ofProgram }
	begin := slices.IndexFunc(all, isProgram)
	if begin < 0 {
		return nil, false
	}
	end := len(all)
	for !isProgram(all[end-1]) {
		end--
	}
	var b bytes.Buffer
	for _, f := range all[max(0, begin-1):end] {
		fmt.Fprintf(&b, "%s(...)\n\t%s:%d\n", f.Function, f.File, f.Line)
		has = has || handler != "" && (f.Function == handler || strings.HasPrefix(f.Function, handler+"."))
	}
	return b.Bytes(), has
}
