package wsframe

import (
	"crypto/fips140"
	"crypto/sha1"
	"encoding/base64"
)

// acceptGUID is what the server appends to the key (RFC 6455 section 1.3).
const acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// keySize is the length of Sec-WebSocket-Key: 16 bytes in base64.
const keySize = 24

// AppendAccept appends the value of Sec-WebSocket-Accept for a Sec-WebSocket-Key to dst
// and returns the extended dst (RFC 6455 section 4.2.2). key must be valid, see
// [ValidKey].
func AppendAccept(dst, key []byte) []byte {
	var in [keySize + len(acceptGUID)]byte
	text := append(append(in[:0], key...), acceptGUID...)
	sum := digest(text)
	return base64.StdEncoding.AppendEncode(dst, sum[:])
}

// digest returns the SHA-1 of text. The protocol doesn't use it for security, so it is
// allowed where only the algorithms of FIPS 140 are.
func digest(text []byte) (sum [sha1.Size]byte) {
	if fips140.Enforced() {
		return digestUnenforced(text)
	}
	return sha1.Sum(text)
}

func digestUnenforced(text []byte) (sum [sha1.Size]byte) {
	text = append([]byte(nil), text...)
	fips140.WithoutEnforcement(func() { sum = sha1.Sum(text) })
	return sum
}

// ValidKey reports whether key is a value of Sec-WebSocket-Key: 16 bytes in base64 (RFC
// 6455 section 4.2.1). The bits that the last character has beyond 16 bytes may be set.
func ValidKey(key []byte) bool {
	if len(key) != keySize || key[keySize-1] != '=' || key[keySize-2] != '=' {
		return false
	}
	for _, c := range key[:keySize-2] {
		if !('A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/') {
			return false
		}
	}
	return true
}
