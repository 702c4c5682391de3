// Package msg has message heads as plain data: the field section (Fields), and the
// request and response heads that contain it.
//
// Heads that were parsed and heads that were built have the same representation: an
// append-only arena of bytes, and small records of offsets into it. The parser (package
// h1) copies the whole head into the arena once and adds records. A setter appends a line
// to the arena and adds or changes a record. A deletion leaves a tombstone. So a message
// that is only read isn't copied field by field, and a head that was built is written
// with one memmove.
//
// The package does no I/O and has no rules of framing: those are in package h1.
package msg
