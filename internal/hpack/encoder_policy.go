package hpack

import (
	"bytes"

	"github.com/galehttp/gale/internal/msg"
)

// These rules decide which fields enter the encoder's table.

// secretIDs has the bits of fields that are always encoded as never-indexed.
const secretIDs uint64 = 1<<msg.Authorization | 1<<msg.ProxyAuthorization | 1<<msg.Cookie | 1<<msg.SetCookie

// variableIDs has the bits of fields that never enter, because they rarely have the
// same value twice on a connection, or are about as short as an index. The names of
// all of them are in the static table.
const variableIDs uint64 = 1<<msg.ContentLength | 1<<msg.ContentRange | 1<<msg.Etag | 1<<msg.LastModified |
	1<<msg.Location | 1<<msg.Range | 1<<msg.IfNoneMatch | 1<<msg.IfModifiedSince | 1<<msg.IfRange

// neverEnters reports whether fields with the name never enter the table.
func (n *fieldName) neverEnters() bool { return variableIDs>>n.id&1 != 0 || n.pseudo == Path }

// shortSecret is the length in bytes below which an attacker might guess a secret
// by observing how indexing changes the length of messages (RFC 7541 section 7.1).
const shortSecret = 20

// isShortSecret reports whether the value of a field with an unknown name is short,
// and its name indicates a secret.
func isShortSecret(name, value []byte) bool {
	if len(value) >= shortSecret {
		return false
	}
	for _, end := range secretEnds {
		if bytes.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

var secretEnds = [][]byte{
	[]byte("token"), []byte("secret"), []byte("-key"), []byte("password"), []byte("-auth"), []byte("session"), []byte("-otp"), []byte("-pin"),
}
