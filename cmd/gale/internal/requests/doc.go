// Package requests makes the requests of gale bench from what its command line says, and
// checks the responses against expectations.
//
// A Source is either fixed, or a set of templates that rows of a CSV file fill in:
// {{name}} stands for the column with that name in the file's first row. Everything that can
// be wrong with a request is found when the source is made, so filling in never fails: a
// value can't end a line of the head, and can't leave its part of the URL.
package requests
