// Package static finds the files that a server sends, apart from any request or
// connection.
//
// It has two parts. The rules say which paths may be opened, which byte ranges are sent,
// whether a condition of the request holds, what an entity tag looks like and how a folder
// is listed. They are pure functions of their arguments, and take the operating system as
// an argument too, so the rules for Windows are tested on every system.
//
// A [Store] opens files, makes and finds their compressed variants, and keeps both for a
// while (store.go, source.go, entry.go, variant.go, index.go, timed.go). It knows no
// request: the handler in the root package asks it for an [Entry] and answers with that.
//
// The flow of a request:
//
//	Store.Open (Cache.Get, or Rules.Check and load) -> Conditions.Evaluate -> ParseRanges -> body
package static
