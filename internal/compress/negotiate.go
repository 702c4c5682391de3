package compress

import (
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Weights are counted in thousandths: 1000 is q=1.
const (
	unset    = -1
	fullMark = 1000
)

// weights holds the client's weight for each coding, or unset.
type weights struct {
	of   [Codings]int
	star int
}

// Negotiate chooses the coding for an answer to a request whose Accept-Encoding
// fields have the given values (RFC 9110 section 12.5.3). offer lists what can be
// sent, best first, without Identity.
//
// The client's weights decide; for equal weights the order of offer decides. c is
// Identity if the client accepts no coding of offer, or gives identity a higher
// weight. required says that the client refuses identity. If it also accepts no
// coding of offer, c is still Identity, because there is nothing better to send.
func Negotiate(values [][]byte, offer ...Coding) (c Coding, required bool) {
	w := weights{of: [Codings]int{unset, unset, unset, unset, unset}, star: unset}
	for member := range bytesconv.Elements(values) {
		w.add(member)
	}
	best := 0
	for _, o := range offer {
		if q := w.weigh(o); q > best {
			c, best = o, q
		}
	}
	plain := w.weigh(Identity)
	if plain > best {
		return Identity, false
	}
	return c, plain == 0 && best > 0
}

// weigh returns the weight of c from 0, not acceptable, to fullMark. A coding that
// the client doesn't mention has the weight of "*", or isn't acceptable without
// "*". Identity is always acceptable, as the last choice: its weight is then unset.
func (w *weights) weigh(c Coding) int {
	switch {
	case w.of[c] != unset:
		return w.of[c]
	case w.star != unset:
		return w.star
	case c == Identity:
		return unset
	}
	return 0
}

// add reads one member of
//
//	Accept-Encoding = #( codings [ weight ] )
//	codings         = content-coding / "identity" / "*"
//	weight          = OWS ";" OWS "q=" qvalue
//
// If a coding is repeated, the first one counts. Members that break the grammar are
// skipped.
func (w *weights) add(member []byte) {
	name, param, weighted := bytes.Cut(member, []byte{';'})
	q := fullMark
	if weighted {
		if q = parseWeight(bytesconv.TrimOWS(param)); q < 0 {
			return
		}
	}
	w.set(bytesconv.TrimOWS(name), q)
}

func (w *weights) set(name []byte, q int) {
	if len(name) == 0 {
		return
	}
	slot := &w.star
	if len(name) != 1 || name[0] != '*' {
		c, ok := Parse(name)
		if !ok {
			return
		}
		slot = &w.of[c]
	}
	if *slot == unset {
		*slot = q
	}
}

// parseWeight returns the weight in b, or -1 if b isn't a weight:
//
//	"q=" ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] )
func parseWeight(b []byte) int {
	if len(b) < 3 || len(b) > 7 || b[0]|0x20 != 'q' || b[1] != '=' {
		return -1
	}
	if b[2] != '0' && b[2] != '1' {
		return -1
	}
	q := int(b[2]-'0') * fullMark
	if len(b) > 3 && b[3] != '.' {
		return -1
	}
	unit := fullMark / 10
	for i := 4; i < len(b); i++ {
		if b[i] < '0' || b[i] > '9' {
			return -1
		}
		q += int(b[i]-'0') * unit
		unit /= 10
	}
	if q > fullMark {
		return -1
	}
	return q
}

// Compressible reports whether bodies of the given Content-Type are worth
// compressing: text, and the application, font and image types that aren't
// compressed already. An empty type counts as text.
func Compressible(contentType []byte) bool {
	t, _, _ := bytes.Cut(contentType, []byte{';'})
	t = bytesconv.TrimOWS(t)
	if len(t) == 0 {
		return true
	}
	top, sub, ok := bytes.Cut(t, []byte{'/'})
	if !ok || len(sub) == 0 {
		return false
	}
	switch {
	case is(top, "text"), is(top, "message"), is(top, "multipart"):
		return true
	case hasSuffix(sub, "+json"), hasSuffix(sub, "+xml"):
		return true
	case is(top, "application"):
		return !isOneOf(sub, packedApplications) && !hasPrefix(sub, "vnd.openxmlformats-")
	case is(top, "font"):
		return !isOneOf(sub, packedFonts)
	case is(top, "image"):
		return isOneOf(sub, plainImages)
	}
	return false
}

var (
	packedApplications = []string{
		"zip", "gzip", "x-gzip", "zstd", "zlib", "x-bzip", "x-bzip2", "x-xz", "x-lzma", "x-7z-compressed",
		"x-rar-compressed", "vnd.rar", "x-compress", "x-compressed", "x-zip-compressed", "java-archive",
		"epub+zip", "vnd.android.package-archive", "vnd.debian.binary-package", "x-rpm", "x-apple-diskimage",
		"font-woff", "font-woff2", "x-font-woff", "ogg", "mp4",
	}
	packedFonts = []string{"woff", "woff2"}
	plainImages = []string{"svg", "x-icon", "vnd.microsoft.icon", "bmp", "x-ms-bmp"}
)

func is(b []byte, s string) bool { return bytesconv.EqualFoldString(b, s) }

func isOneOf(b []byte, list []string) bool {
	for _, s := range list {
		if is(b, s) {
			return true
		}
	}
	return false
}

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && is(b[:len(s)], s) }
func hasSuffix(b []byte, s string) bool { return len(b) >= len(s) && is(b[len(b)-len(s):], s) }
