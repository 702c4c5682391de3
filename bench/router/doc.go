// Package router compares package router with other routers, by the time that one request for each route
// of a table takes, without a server. The tables of public APIs are read from a folder beside the
// repository, and left out without it.
//
//	go test -run '^$' -bench . -count 11 .
//	go test -run Build -v .
package router
