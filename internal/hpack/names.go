package hpack

import (
	"bytes"

	"github.com/galehttp/gale/internal/msg"
)

// Pseudo says which pseudo-header field a name is (RFC 9113 section 8.3).
type Pseudo uint8

// The values of Pseudo.
const (
	NotPseudo   Pseudo = iota
	Method             // :method
	Scheme             // :scheme
	Authority          // :authority
	Path               // :path
	Protocol           // :protocol, RFC 8441 section 4
	Status             // :status
	OtherPseudo        // any other name that begins with a colon
	numPseudos
)

var pseudoNames = [numPseudos]string{
	Method: ":method", Scheme: ":scheme", Authority: ":authority", Path: ":path", Protocol: ":protocol", Status: ":status",
}

var pseudoNameBytes = func() (names [numPseudos][]byte) {
	for p, name := range pseudoNames {
		names[p] = []byte(name)
	}
	return names
}()

// String returns the name, "" for NotPseudo and OtherPseudo.
func (p Pseudo) String() string { return pseudoNames[p] }

// lowerNames are the known names as HTTP/2 spells them.
var lowerNames = func() (names [msg.NumIDs][]byte) {
	for id := range names {
		names[id] = bytes.ToLower(msg.ID(id).Name())
	}
	return names
}()

// identify returns the ID of a name, if it is a known name in lower case, or its
// Pseudo, if it is the name of a pseudo-header field.
func identify(name []byte) (msg.ID, Pseudo) {
	if len(name) > 0 && name[0] == ':' {
		return msg.Unknown, identifyPseudo(name)
	}
	id := msg.Lookup(name)
	if id != msg.Unknown && !bytes.Equal(lowerNames[id], name) {
		id = msg.Unknown
	}
	return id, NotPseudo
}

func identifyPseudo(name []byte) Pseudo {
	for p := Method; p < OtherPseudo; p++ {
		if pseudoNames[p] == string(name) {
			return p
		}
	}
	return OtherPseudo
}
