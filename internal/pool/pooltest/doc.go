// Package pooltest checks that objects that are reused forget what they held. Only
// tests import it.
//
// A [Check] fills every field of an object, including unexported ones and those of
// nested structs. It then gives the object back with the function that the library
// uses for that, and compares it field by field with a new object. It does so once
// with all fields filled, and once for each field alone: this shows resets that
// depend on another field. Every difference must be listed with its reason.
package pooltest
