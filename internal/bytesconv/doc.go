// Package bytesconv holds the byte-level conversions that all other packages use:
// strings and byte slices without copies, ASCII tables and case folding, integers
// in decimal and hex, percent-encoding. It is the only package of Gale that uses
// unsafe.
//
// Every function is pure: bytes in, bytes out. Append functions write to dst
// and return it, growing it when needed; none of them keeps an argument.
package bytesconv

//go:generate go run tables_gen.go
