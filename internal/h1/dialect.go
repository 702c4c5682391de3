package h1

// Dialect says which syntax of a message is accepted. The section on leniency in the
// package comment says what each of the methods allows, and why it is harmless.
type Dialect uint8

// The dialects.
const (
	// Strict is the dialect of the connections of servers.
	Strict Dialect = iota
	// Folding is Strict with folded field lines. It is for responses, in which a user agent and
	// a proxy replace a fold by a space (RFC 9112 section 5.2).
	Folding
	// Lenient also accepts some syntax that old or careless programs write. It is for the
	// Read methods that programs call themselves, on messages from files, captures and
	// logs.
	Lenient
)

// takesVersion0 allows the version HTTP/0.9 in start lines.
func (d Dialect) takesVersion0() bool { return d == Lenient }

// takesStatusSpaces allows several spaces before a status code.
func (d Dialect) takesStatusSpaces() bool { return d == Lenient }

// takesFragment allows a fragment in a target.
func (d Dialect) takesFragment() bool { return d == Lenient }

// takesSpacedNames allows spaces within field names.
func (d Dialect) takesSpacedNames() bool { return d == Lenient }

// takesFolding allows folded field lines (RFC 9112 section 5.2).
func (d Dialect) takesFolding() bool { return d != Strict }

// takesBareLF allows a bare LF as the end of a line of the head (RFC 9112 section 2.2).
func (d Dialect) takesBareLF() bool { return d == Lenient }

// takesSizeSpace allows whitespace after a chunk size.
func (d Dialect) takesSizeSpace() bool { return d == Lenient }

// takesLengthAndCoding allows a Content-Length together with "chunked".
func (d Dialect) takesLengthAndCoding() bool { return d == Lenient }

// takesLastType keeps the last of several Content-Type fields, not the first.
func (d Dialect) takesLastType() bool { return d == Lenient }
