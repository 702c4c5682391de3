// Package static finds and opens the files that a server sends. It knows no
// requests and no connections.
//
// It has two parts. The rules say which paths may be opened, which byte ranges are
// sent, whether a request's condition is true, what an entity tag looks like and
// how a folder is listed. They are pure functions of their arguments. The operating
// system is an argument too, so the rules for Windows are tested on every system.
//
// A [Store] opens files, makes and finds their compressed variants, and keeps both
// for a while (store.go, source.go, entry.go, variant.go, index.go, timed.go). The
// handler in the root package gets an [Entry] from it and answers with that.
//
// The flow of a request:
//
//	Store.Open (Cache.Get, or Rules.Check and load) -> Conditions.Evaluate -> ParseRanges -> body
package static
