// Package bench compares Gale with fasthttp and net/http: the same work, the
// same input, in one run. Each benchmark has sub-benchmarks named
// impl=gale, impl=fasthttp and impl=nethttp, so that
//
//	go test -bench . | go run ./cmd/table
//
// prints a table with ratios. It is a module of its own: the library itself
// depends on neither. docs/internals/benchmarks.md says what is measured and what not.
package bench
