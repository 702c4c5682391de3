// Package kv holds List, an ordered list of keys with values, and the two
// parsers that fill it: query strings and Cookie fields. Arguments, request
// cookies and trailer names are such lists.
//
// A list is one arena of bytes plus one record of offsets per pair. Parsing is one
// copy of the input into the arena and one pass over it; escapes are decoded in
// place. Lookups are linear, so a caller that fills a list from the network must
// limit the number of pairs. No function does I/O or reads a clock.
package kv
