// Package msg holds message heads as plain data: the field section (Fields)
// and around it the request and response heads.
//
// There is one representation for a head that was parsed and for one that was
// built: an append-only arena of bytes and small records of offsets into it.
// The parser (package h1) copies the whole head into the arena once and leaves
// records; a setter appends a line to the arena and adds or repoints a record;
// a deletion leaves a tombstone. Nothing is copied field by field for a message
// that is only read, and a head that was built serialises with a memmove.
//
// The package does no I/O, knows no framing rules and checks no values: those
// are h1's and the public types' business.
package msg
