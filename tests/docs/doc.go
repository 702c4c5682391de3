// Package docs tests the documents: the Go code of README.md, docs/ and
// examples/README.md is compiled, whole programs are run, and links lead somewhere.
//
// An HTML comment on the line before a fenced go block says how the block is tested:
//
//	<!-- test: handler -->        statements of a handler; ctx is its *gale.RequestCtx
//	<!-- test: function -->       statements of a function that returns an error
//	<!-- test: declarations -->   functions and types at top level
//	<!-- test: file notes/a.go --> a file of the package notes of this document
//	<!-- test: part of examples/fiber/main.go --> lines of that file, which has its own tests
//	<!-- test: module examples/fiber --> a program that needs the modules of that one
//
// A whole program, or declarations only, need no comment. Packages are imported by their
// names. What the block uses and doesn't declare is declared by "given":
//
//	<!-- test: handler given db *sql.DB, users map[string]string -->
//
// A whole program is started and must answer. Its ports are replaced by free ones, and it
// runs in a folder with a certificate for 127.0.0.1 in cert.pem and its key in key.pem. The
// fenced console blocks after it say what to ask: lines that begin with "$ " are run by a
// shell in that folder, and must print what the block shows; "..." stands for any text. A
// program that calls ShutdownWithContext must end well after SIGINT.
//
// A program that listens nowhere, such as a client, is only started.
//
// All blocks are packages of one temporary module, which are vetted together; all programs
// are one binary. Nothing needs a network: programs of other modules are left out where
// these are not in the module cache.
package docs
