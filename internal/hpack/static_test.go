package hpack

import (
	"testing"

	"github.com/galehttp/gale/internal/msg"
	peer "golang.org/x/net/http2/hpack"
)

func TestStaticTable(t *testing.T) {
	for i := 1; i <= numStatic; i++ {
		fields, err := peer.NewDecoder(DefaultTableSize, nil).DecodeFull([]byte{0x80 | byte(i)})
		if err != nil {
			t.Fatal(err)
		}
		s := &static[i]
		if s.name() != fields[0].Name || s.value() != fields[0].Value {
			t.Errorf("%d: %s=%s, want %v", i, s.name(), s.value(), fields[0])
		}
	}
}

// Every entry is found by its name, by its name and value, and as what it is.
func TestStaticIndexes(t *testing.T) {
	for i := 1; i <= numStatic; i++ {
		s := &static[i]
		var first uint8
		switch {
		case s.pseudo != NotPseudo:
			first = staticByPseudo[s.pseudo]
		case s.id != msg.Unknown:
			first = staticByID[s.id]
		default:
			first = staticByName([]byte(s.name()))
		}
		if first == 0 || static[first].name() != s.name() || first > 1 && static[first-1].name() == s.name() {
			t.Errorf("the first entry named %s is said to be %d", s.name(), first)
			continue
		}
		if got := staticPair(first, []byte(s.value())); got != uint8(i) {
			t.Errorf("%s=%s is said to be %d, want %d", s.name(), s.value(), got, i)
		}
		if got := staticPair(first, []byte("other")); got != 0 {
			t.Errorf("%s=other is said to be %d", s.name(), got)
		}
	}
	if staticByName([]byte("x-other")) != 0 || staticByID[msg.Unknown] != 0 || staticByPseudo[OtherPseudo] != 0 {
		t.Error("a name that is not in the table was found")
	}
}
