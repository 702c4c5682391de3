// Package listing makes the pages of "gale serve" that aren't files: the listing of a
// folder, as HTML and as JSON, and the pages for errors.
//
// A request for a listing takes this way:
//
//	Pages.Folder -> parseView -> read -> choose -> appendPage or appendJSON -> send
//
// Each request reads its folder again, so a listing is never old. Half of the processors,
// but at least one, make listings at the same time; a bounded number of requests wait.
//
// The pages work without their scripts. Nothing is loaded from elsewhere: style and scripts
// are in the page, and its Content-Security-Policy allows exactly these. Names of files are
// bytes that anybody may have chosen; text.go says how they are shown.
package listing
