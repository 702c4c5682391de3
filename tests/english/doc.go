// Package english holds no code. Its tests look for phrases that make readers stop, in the
// documents, the doc comments, the help texts and the comments of this repository.
// patterns_test.go has the phrases, each with the plain wording to use.
package english
