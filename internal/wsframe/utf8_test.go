package wsframe

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// utf8Texts are texts with valid and invalid sequences of all kinds.
var utf8Texts = []string{
	"", "a", "plain text that is longer than a word, and than four of them",
	"κόσμε", "\u07ff\u0800\ud7ff\ue000\uffff", "\U00010000\U0010ffff", "héllo wörld", "日本語のテキスト、長めに", "🙂🙃 emoji 👩‍👩‍👧",
	"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2a", "\xdf\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xe0\xa0\x80", "\xe1\x80", "\xed\x9f\xbf",
	"\xed\xa0\x80", "\xed\xbf\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80\x80", "\xf1\x80\x80\x80",
	"\xf4\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf8\x88\x80\x80\x80", "\xfe", "\xff",
	"κόσμε\xed\xa0\x80edited", "κόσμε\xf4\x90\x80\x80edited",
}

// mayContinue reports whether some continuation makes b valid, by the definition.
func mayContinue(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r != utf8.RuneError || n != 1 {
			b = b[n:]
			continue
		}
		if len(b) > 3 {
			return false
		}
		for _, end := range []string{"\x80", "\xa0", "\x90", "\x80\x80", "\xa0\x80", "\x90\x80", "\x80\x80\x80", "\xa0\x80\x80", "\x90\x80\x80"} {
			if utf8.Valid(append(bytes.Clone(b), end...)) {
				return true
			}
		}
		return false
	}
	return true
}

// checkers are the three loops that check text, each as a function from a masked text and a
// state to the next state.
var checkers = map[string]func(b []byte, key uint32, state uint8) uint8{
	"checkMasked": checkMasked,
	"unmaskText": func(b []byte, key uint32, state uint8) uint8 {
		want := bytes.Clone(b)
		mask(want, key)
		s := unmaskText(b, key, state)
		if s != rejected && !bytes.Equal(b, want) {
			panic("the text isn't unmasked")
		}
		return s
	},
	"checkText": func(b []byte, key uint32, state uint8) uint8 {
		mask(b, key)
		return checkText(b, state)
	},
}

// testUTF8 compares the checkers with the definition for text in two parts.
func testUTF8(t *testing.T, text []byte, cut int) {
	const key = 0x9c813f5a
	want := uint8(rejected)
	switch {
	case utf8.Valid(text):
		want = between
	case mayContinue(text):
		want = want1 // or another of the states inside a sequence
	}
	for name, check := range checkers {
		b := bytes.Clone(text)
		mask(b, key)
		got := check(b[:cut], key, between)
		if (got == rejected) != !mayContinue(text[:cut]) {
			t.Fatalf("%s: state %d after %q", name, got, text[:cut])
		}
		got = check(b[cut:], turn(key, cut), got)
		if got != between && got != rejected {
			got = want1
		}
		if got != want {
			t.Fatalf("%s: state %d after %q and %q, want %d", name, got, text[:cut], text[cut:], want)
		}
	}
	var u UTF8
	if u.Write(text[:cut]) != mayContinue(text[:cut]) || u.Write(text[cut:]) != (want != rejected) || u.Done() != (want == between) {
		t.Fatalf("UTF8 of %q and %q", text[:cut], text[cut:])
	}
}

// TestUTF8 proves that text is accepted if unicode/utf8 accepts it, and rejected with the
// first byte after which nothing can make it valid: at all places of a few words, for all
// splits, and between texts with other characters.
func TestUTF8(t *testing.T) {
	for _, s := range utf8Texts {
		for _, before := range []string{"", "абвгдежз", "0123456789abcdef0123456789abcdef0123456789", "天地玄黃宇宙洪荒日月盈昃辰宿列張"} {
			for skip := range 9 {
				text := []byte("abcdefghi"[:skip] + before + s + before)
				for cut := range len(text) + 1 {
					if len(text) < 40 || cut%7 == 0 {
						testUTF8(t, text, cut)
					}
				}
			}
		}
	}
}

// TestUTF8Triples has all sequences of three bytes of which two aren't ASCII, with the
// fourth of some.
func TestUTF8Triples(t *testing.T) {
	text := []byte("12345678901234567890abcd----")
	for a := 0x70; a < 0x100; a++ {
		for b := 0x70; b < 0x100; b++ {
			for _, c := range []byte{'x', 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc2, 0xe1} {
				text[5], text[6], text[7], text[8] = byte(a), byte(b), c, 0x80
				valid := utf8.Valid(text)
				if got := checkText(text, between); (got == between) != valid {
					t.Fatalf("% x: state %d", text[5:9], got)
				}
				text[8] = 'y'
				valid = utf8.Valid(text)
				if got := checkText(text, between); (got == between) != valid {
					t.Fatalf("% x: state %d", text[5:9], got)
				}
			}
		}
	}
}

func FuzzUTF8(f *testing.F) {
	for _, s := range utf8Texts {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		testUTF8(t, text, min(max(cut, 0), len(text)))
	})
}
