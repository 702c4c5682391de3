package h1

// Dialect says which spellings of a message are accepted. See the section on
// leniency in the package documentation for what each of the methods lets through,
// and why it is harmless.
type Dialect uint8

// The dialects.
const (
	// Strict is what the connections of servers and clients speak.
	Strict Dialect = iota
	// Lenient accepts some of what old or careless programs write. It is for the Read
	// methods that programs call themselves, on messages from files, captures and logs.
	Lenient
)

// takesVersion0 lets start lines have the version HTTP/0.9.
func (d Dialect) takesVersion0() bool { return d == Lenient }

// takesStatusSpaces lets several spaces stand before a status code.
func (d Dialect) takesStatusSpaces() bool { return d == Lenient }

// takesFragment lets a target have a fragment.
func (d Dialect) takesFragment() bool { return d == Lenient }

// takesSpacedNames lets spaces stand within field names.
func (d Dialect) takesSpacedNames() bool { return d == Lenient }

// takesFolding lets field lines be folded (RFC 9112 section 5.2).
func (d Dialect) takesFolding() bool { return d == Lenient }

// takesBareLF lets a bare LF end a line of the head (RFC 9112 section 2.2).
func (d Dialect) takesBareLF() bool { return d == Lenient }

// takesSizeSpace lets whitespace follow a chunk size.
func (d Dialect) takesSizeSpace() bool { return d == Lenient }

// takesLengthAndCoding lets a Content-Length stand beside "chunked".
func (d Dialect) takesLengthAndCoding() bool { return d == Lenient }

// takesLastType makes the last of several Content-Type fields count, not the first.
func (d Dialect) takesLastType() bool { return d == Lenient }
