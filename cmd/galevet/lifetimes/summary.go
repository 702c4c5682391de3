package lifetimes

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// A funcRef is a function of the package that is looked at. It isn't part of facts.
type funcRef struct{ fn *ssa.Function }

// A Summary says what a function does with what its callers pass. Inputs are numbered: the
// parameters (a receiver is the first), then the variables that a closure captures.
type Summary struct {
	Params   int // how many inputs are parameters
	Flows    []Flow
	Escapes  []Escape
	Releases []Release
	Detaches []Ref // requests that are detached on each way through the function
	Calls    []DynCall
	Uses     []Ref // what the function reads, or passes to functions that may read it
	Signals  []Ref // channels and wait groups that the function signals
	Waits    []Ref // channels and wait groups that it waits for on each way
	MayWait  []Ref // likewise, on some ways
	Acquires []Acquire
	Closures []Closure
	Clears   []Ref // places that are emptied on each way
}

// A Ref names a value by an input and a path from it: "*" follows a pointer, ".f" is a field,
// "[]" an element, "[k]" a key of a map, "()" what an accessor returns, "{}" what a closure
// captures, "~" what an object was given to keep. With Addr it is the address of that place.
type Ref struct {
	Base   int
	Global string // the input is this global variable, as package.name
	Path   string
	Addr   bool
	Deep   bool // and all that can be reached from it
	Value  bool // a context's Value is called
}

// A Flow says that From is part of a result, or is stored in another input.
type Flow struct {
	From   Ref
	Result int // or -1
	To     Ref
	Sub    string // where in the result
	Stream bool   // it is used after the handler, while the response is sent

	pos  token.Pos
	lent bool // From is a context, or comes from one, by the types of this function
}

// An Escape says that From is kept after the function has returned.
type Escape struct {
	From  Ref
	Kind  string
	Name  string // of the variable that keeps it
	Where string
	Joins []Ref    // waiting for one of these ends it
	Not   []string // types that From doesn't have there
	Held  bool     // a result of the function can be waited for

	pos      token.Pos
	lent     bool
	reported bool
}

// A Release says that What goes back to a pool.
type Release struct {
	What  Ref
	Must  bool
	Func  string
	Where string
}

// A DynCall is a call of a function that is an input.
type DynCall struct {
	Func Ref
	Args [][]Ref
}

// An Acquire says that a result comes from a pool and belongs to the caller.
type Acquire struct {
	Result int
	Sub    string
	Func   string
}

// A Closure is a function that is returned, and what it captures.
type Closure struct {
	Result int
	Sub    string
	Sum    *Summary
	Bound  bool
	Binds  []Flow // Result is the number of the captured variable

	fn *funcRef
}

func (s *Summary) empty() bool {
	return len(s.Flows)+len(s.Escapes)+len(s.Releases)+len(s.Detaches)+len(s.Calls)+len(s.Uses)+len(s.Signals)+len(s.Waits)+len(s.MayWait)+len(s.Acquires)+len(s.Closures)+len(s.Clears) == 0
}

// size grows whenever something is added. Summaries only grow while they are computed.
func (s *Summary) size() int {
	return len(s.Flows) + len(s.Escapes) + len(s.Releases) + len(s.Detaches) + len(s.Calls) + len(s.Uses) + len(s.Signals) + len(s.Waits) + len(s.MayWait) + len(s.Acquires) + len(s.Closures) + len(s.Clears)
}

// FuncFact carries a Summary to packages that import the function's.
type FuncFact struct{ S Summary }

// AFact marks FuncFact as a fact.
func (*FuncFact) AFact() {}

func (f *FuncFact) String() string { return "lifetimes" }

// PackageFact carries what is known about a whole package.
type PackageFact struct {
	Immutable bool // it configures Fiber to copy strings
	Decls     []string
}

// AFact marks PackageFact as a fact.
func (*PackageFact) AFact() {}

// less orders Refs, short paths first.
func (r Ref) less(o Ref) bool {
	if len(r.Path) != len(o.Path) {
		return len(r.Path) < len(o.Path)
	}
	if r.Base != o.Base {
		return r.Base < o.Base
	}
	if r.Path != o.Path {
		return r.Path < o.Path
	}
	if r.Addr != o.Addr {
		return o.Addr
	}
	if r.Deep != o.Deep {
		return o.Deep
	}
	return !r.Value && o.Value
}
