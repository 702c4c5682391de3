// Package far contains only tests. They move large bodies between the server and a client
// that is far away: a link between them delays every byte and limits the bytes per
// second.
//
// GALE_FAR=1 makes TestSpeed compare HTTP/2 with HTTP/1.1 with bodies of 1 GB, which
// takes some minutes on an idle machine:
//
//	GALE_FAR=1 go test -count=1 -run TestSpeed -v ./tests/far
package far
