// Package static holds the rules of serving files, apart from any request or
// connection: which paths may be opened, which byte ranges are sent, whether a
// condition of the request holds, what an entity tag looks like, how a folder
// is listed, and how open files are shared.
//
// Everything but the open files in file.go and cache.go is a pure function of
// its arguments: nothing here reads a clock, and operating systems are told
// apart by arguments, so the rules for Windows are tested on every system.
//
// The flow of a request, driven by the handler in the root package:
//
//	Rules.Check(path) -> Cache.Get(path) -> Conditions.Evaluate -> ParseRanges -> body
package static
