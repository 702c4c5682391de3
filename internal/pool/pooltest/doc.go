// Package pooltest checks that objects that are used again forget what they held.
// Only tests import it.
//
// A [Check] fills every field of an object, unexported ones and those of nested
// structs too, has the object given back by the function that the library uses for
// that, and compares it field by field with a new one. It does so once with all
// fields filled, and once for each field alone: then a reset that depends on another
// field shows. What differs must be listed, with the reason.
package pooltest
