package wsframe

import "github.com/galehttp/gale/internal/bytesconv"

// extensions reads one value of Sec-WebSocket-Extensions (RFC 6455 section 9.1): a list
// of extensions with parameters. The caller calls next, then param until it returns no name,
// then next again.
type extensions struct {
	rest   []byte
	broken bool // the value doesn't have the form of the grammar
}

// next returns the name of the next extension, or nil at the end or if the value is
// broken. Empty elements of the list are skipped (RFC 9110 section 5.6.1).
func (e *extensions) next() (name []byte) {
	if e.broken {
		return nil
	}
	e.rest = skipOWS(e.rest)
	for len(e.rest) > 0 && e.rest[0] == ',' {
		e.rest = skipOWS(e.rest[1:])
	}
	if len(e.rest) == 0 {
		return nil
	}
	return e.token()
}

// param returns the next parameter of the current extension, or nil if there is none or
// the value is broken. hasValue says whether the parameter has a value; the value is
// without its quotes. scratch is memory for a value with escapes, which may be replaced.
func (e *extensions) param(scratch []byte) (name, value []byte, hasValue bool) {
	e.rest = skipOWS(e.rest)
	if len(e.rest) == 0 || e.rest[0] == ',' {
		return nil, nil, false
	}
	if e.rest[0] != ';' {
		e.broken = true
		return nil, nil, false
	}
	e.rest = skipOWS(e.rest[1:])
	if name = e.token(); name == nil {
		return nil, nil, false
	}
	e.rest = skipOWS(e.rest)
	if len(e.rest) == 0 || e.rest[0] != '=' {
		return name, nil, false
	}
	e.rest = skipOWS(e.rest[1:])
	if len(e.rest) > 0 && e.rest[0] == '"' {
		value = e.quoted(scratch)
	} else {
		value = e.token()
	}
	if value == nil {
		return nil, nil, false
	}
	return name, value, true
}

// token returns the token at the start of rest. If there is none, the value is broken.
func (e *extensions) token() []byte {
	n := 0
	for n < len(e.rest) && bytesconv.Token[e.rest[n]] {
		n++
	}
	if n == 0 {
		e.broken = true
		return nil
	}
	t := e.rest[:n]
	e.rest = e.rest[n:]
	return t
}

// quoted returns the content of the quoted string at the start of rest. Without its
// escapes it must be a token.
func (e *extensions) quoted(scratch []byte) []byte {
	value := scratch[:0]
	for i := 1; i < len(e.rest); i++ {
		switch c := e.rest[i]; c {
		case '"':
			if !bytesconv.IsToken(value) {
				e.broken = true
				return nil
			}
			e.rest = e.rest[i+1:]
			return value
		case '\\':
			if i++; i < len(e.rest) {
				value = append(value, e.rest[i])
			}
		default:
			value = append(value, c)
		}
	}
	e.broken = true
	return nil
}

func skipOWS(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}

// ValidExtensions reports whether all values of Sec-WebSocket-Extensions have the form of
// RFC 6455 section 9.1. A connection with others must fail.
func ValidExtensions(values [][]byte) bool {
	var scratch [32]byte
	for _, v := range values {
		e := extensions{rest: v}
		for e.next() != nil {
			for {
				if name, _, _ := e.param(scratch[:0]); name == nil {
					break
				}
			}
		}
		if e.broken {
			return false
		}
	}
	return true
}
