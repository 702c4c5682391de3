package h2

// sfScanner reads structured fields (RFC 9651): enough of the syntax to find the
// end of each value, and the values of integers and booleans.
type sfScanner struct {
	b   []byte
	i   int
	bad bool // b isn't a structured field
}

type sfKind uint8

const (
	sfOther sfKind = iota
	sfInteger
	sfBool
)

type sfItem struct {
	kind sfKind
	n    int64
}

func (s *sfScanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// next skips c if it is the next byte.
func (s *sfScanner) next(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *sfScanner) spaces() {
	for s.next(' ') {
	}
}

// The classes of bytes, as bits of sfClass.
const (
	sfDigit  = 1 << iota
	sfKey    // of keys
	sfToken  // of tokens
	sfBinary // of byte sequences
	sfSpace  // OWS
)

var sfClass = func() (t [256]uint8) {
	set := func(class uint8, bytes string) {
		for _, c := range []byte(bytes) {
			t[c] |= class
		}
	}
	const digits, lower, upper = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	set(sfDigit, digits)
	set(sfKey, lower+digits+"_-.*")
	set(sfToken, lower+upper+digits+"!#$%&'*+-.^_`|~:/")
	set(sfBinary, lower+upper+digits+"+/=")
	set(sfSpace, " \t")
	return t
}()

// skip skips bytes of a class, and returns them.
func (s *sfScanner) skip(class uint8) []byte {
	from := s.i
	for s.i < len(s.b) && sfClass[s.b[s.i]]&class != 0 {
		s.i++
	}
	return s.b[from:s.i]
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

// key reads a key, nil if there is none.
func (s *sfScanner) key() []byte {
	if c := s.peek(); !isLower(c) && c != '*' {
		s.bad = true
		return nil
	}
	return s.skip(sfKey)
}

// member reads the value of a dictionary's member.
func (s *sfScanner) member() sfItem {
	if !s.next('(') {
		return s.item()
	}
	for !s.bad {
		s.spaces()
		if s.next(')') {
			return sfItem{}
		}
		s.item()
		s.parameters()
		if c := s.peek(); c != ' ' && c != ')' {
			s.bad = true
		}
	}
	return sfItem{}
}

// parameters skips parameters.
func (s *sfScanner) parameters() {
	for !s.bad && s.next(';') {
		s.spaces()
		if s.key(); s.next('=') {
			s.item()
		}
	}
}

// comma skips what separates members. It reports false if there is something else.
func (s *sfScanner) comma() bool {
	s.skip(sfSpace)
	if s.i == len(s.b) {
		return true
	}
	if !s.next(',') {
		return false
	}
	s.skip(sfSpace)
	return s.i < len(s.b)
}

// item reads a bare item.
func (s *sfScanner) item() sfItem {
	switch c := s.peek(); {
	case c == '-' || sfClass[c]&sfDigit != 0:
		return s.number()
	case c == '@': // a date
		s.i++
		if s.number().kind != sfInteger {
			s.bad = true
		}
	case c == '?':
		s.i++
		if c = s.peek(); c == '0' || c == '1' {
			s.i++
			return sfItem{sfBool, int64(c - '0')}
		}
		s.bad = true
	case c == '"':
		s.i++
		s.text()
	case c == ':':
		s.i++
		s.skip(sfBinary)
		s.bad = s.bad || !s.next(':')
	case c == '%' && s.i+1 < len(s.b) && s.b[s.i+1] == '"': // a display string
		s.i += 2
		s.text()
	case isLower(c|0x20) || c == '*':
		s.skip(sfToken)
	default:
		s.bad = true
	}
	return sfItem{}
}

// number reads an integer of up to 15 digits or a decimal.
func (s *sfScanner) number() sfItem {
	sign := int64(1)
	if s.next('-') {
		sign = -1
	}
	digits := s.skip(sfDigit)
	if len(digits) == 0 || len(digits) > 15 {
		s.bad = true
		return sfItem{}
	}
	if s.next('.') {
		if n := len(s.skip(sfDigit)); n == 0 || n > 3 || len(digits) > 12 {
			s.bad = true
		}
		return sfItem{}
	}
	n := int64(0)
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	return sfItem{sfInteger, sign * n}
}

// text skips a string after its first quote.
func (s *sfScanner) text() {
	for s.i < len(s.b) {
		c := s.b[s.i]
		s.i++
		switch {
		case c == '"':
			return
		case c == '\\':
			if c = s.peek(); c != '"' && c != '\\' {
				s.bad = true
				return
			}
			s.i++
		case c < ' ' || c >= 0x7f:
			s.bad = true
			return
		}
	}
	s.bad = true
}
