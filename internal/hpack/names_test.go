package hpack

import (
	"testing"

	"github.com/galehttp/gale/internal/msg"
)

func TestIdentify(t *testing.T) {
	for _, c := range []struct {
		name   string
		id     msg.ID
		pseudo Pseudo
	}{
		{"", msg.Unknown, NotPseudo},
		{"content-type", msg.ContentType, NotPseudo},
		{"Content-Type", msg.Unknown, NotPseudo}, // malformed: the caller sees the name
		{"content-typE", msg.Unknown, NotPseudo},
		{"te", msg.Te, NotPseudo},
		{"x-mine", msg.Unknown, NotPseudo},
		{":method", msg.Unknown, Method},
		{":scheme", msg.Unknown, Scheme},
		{":authority", msg.Unknown, Authority},
		{":path", msg.Unknown, Path},
		{":protocol", msg.Unknown, Protocol},
		{":status", msg.Unknown, Status},
		{":Method", msg.Unknown, OtherPseudo},
		{":", msg.Unknown, OtherPseudo},
		{":host", msg.Unknown, OtherPseudo},
	} {
		id, pseudo := identify([]byte(c.name))
		if id != c.id || pseudo != c.pseudo {
			t.Errorf("%q: %v, %v; want %v, %v", c.name, id, pseudo, c.id, c.pseudo)
		}
	}
	for id := 1; id < msg.NumIDs; id++ {
		if got, _ := identify(lowerNames[id]); got != msg.ID(id) {
			t.Errorf("%s is identified as %v", lowerNames[id], got)
		}
	}
}
