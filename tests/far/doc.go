// Package far holds no code. Its tests move large bodies between the server and a client that
// is far away: a link in between delays every byte and bounds the bytes a second.
//
// GALE_FAR=1 makes TestSpeed compare HTTP/2 with HTTP/1.1 by bodies of 1 GB, which takes some
// minutes of a quiet machine:
//
//	GALE_FAR=1 go test -count=1 -run TestSpeed -v ./tests/far
package far
