package msg

// Lengths of a body that are no number of bytes.
const (
	// LenChunked: the body comes in the chunked coding, RFC 9112 section 7.1.
	LenChunked = -1
	// LenUnknown: no length was given. A request then has no body, a
	// response's ends with the connection (RFC 9112 section 6.3).
	LenUnknown = -2
)

// MethodID is a number for the request methods that Gale asks for by name.
type MethodID uint8

// The known methods (RFC 9110 section 9.3, RFC 5789 and QUERY).
const (
	MethodOther MethodID = iota
	MethodGet
	MethodHead
	MethodPost
	MethodPut
	MethodDelete
	MethodConnect
	MethodOptions
	MethodTrace
	MethodPatch
	MethodQuery
)

// LookupMethod returns the number of a method; case matters (RFC 9110 section 9.1).
func LookupMethod(b []byte) MethodID {
	switch string(b) {
	case "GET":
		return MethodGet
	case "HEAD":
		return MethodHead
	case "POST":
		return MethodPost
	case "PUT":
		return MethodPut
	case "DELETE":
		return MethodDelete
	case "CONNECT":
		return MethodConnect
	case "OPTIONS":
		return MethodOptions
	case "TRACE":
		return MethodTrace
	case "PATCH":
		return MethodPatch
	case "QUERY":
		return MethodQuery
	}
	return MethodOther
}

// Expectation is what the Expect field asks for.
type Expectation uint8

// The values of Expectation.
const (
	ExpectNone Expectation = iota
	ExpectContinue
	ExpectOther // answered 417, RFC 9110 section 10.1.1
)

// Conn are the options of the Connection field that Gale acts on, a bit set
// (RFC 9110 section 7.6.1).
type Conn uint8

// The connection options.
const (
	ConnClose Conn = 1 << iota
	ConnKeepAlive
	ConnUpgrade
	ConnOther // an option that is none of these
)

// RequestHead is a request line with its field section. The parser fills in
// everything; what is derived from fields (ContentLength, Conn, Expect) must be kept true
// by code that changes fields.
//
// A head is whole or empty: while the parser waits for the rest of one, what it has
// of it is kept apart (see Suspend) and can't be seen.
type RequestHead struct {
	// Fields holds the field section and the parts Method (empty means GET),
	// Target, Authority, Proto and Raw.
	Fields
	requestFacts
	suspended *suspended
}

// requestFacts is what is known of a request head beside its bytes.
type requestFacts struct {
	// ContentLength is the length of the body: 0 and up, LenChunked or LenUnknown.
	ContentLength int64
	MethodID      MethodID
	// Minor is the minor version: 1 or 0.
	Minor  uint8
	Conn   Conn
	Expect Expectation
	// Form is the form of the target as it was received. The authority of an
	// absolute-form or authority-form is the part Authority.
	Form Form
}

// Scan is the state of a head that has arrived in part. All offsets are
// relative to the first byte of the head.
type Scan struct {
	// Line is the offset of the first line that is not parsed yet, Seen that
	// of the first byte of it that was not looked at; Seen is 0 if that is
	// the line's first.
	Line, Seen int
	// Sep are the offsets of the separators that were found in the unfinished
	// line and Seps is how many they are: the spaces of a start line, the
	// colon of a field line.
	Sep  [2]int
	Seps int
	// Dups has bit 1<<id set if there are several fields with that known id.
	Dups uint64
}

// Form is the form of a request-target (RFC 9112 section 3.2).
type Form uint8

// The forms of a request-target.
const (
	FormOrigin    Form = iota // "/path?query"
	FormAbsolute              // "http://host/path?query"
	FormAuthority             // "host:port", of CONNECT
	FormAsterisk              // "*", of OPTIONS
)

// Reset makes h empty for the next request and keeps its memory.
func (h *RequestHead) Reset() {
	if h.suspended != nil {
		h.suspended = nil // not for the pool, so that this is inlined; see Abandon
	}
	h.Fields.Reset()
	h.requestFacts = requestFacts{MethodID: MethodGet, Minor: 1}
}

// CopyTo makes dst an independent copy of h. What the parser has of an unfinished
// head is not copied, and what dst had of one is dropped.
func (h *RequestHead) CopyTo(dst *RequestHead) {
	dst.suspended = nil
	h.Fields.CopyTo(&dst.Fields)
	dst.requestFacts = h.requestFacts
}

// ResponseHead is a status line with its field section. Like a RequestHead it is
// whole or empty.
type ResponseHead struct {
	// Fields holds the field section and the parts Reason, Proto and Raw.
	Fields
	// Status is the status code, 0 meaning 200.
	Status int
	// ContentLength is as in RequestHead.
	ContentLength int64
	Minor         uint8
	Conn          Conn
	suspended     *suspended
}

// Reset makes h empty and keeps its memory.
func (h *ResponseHead) Reset() {
	if len(h.Buf)|len(h.Recs)|h.puts != 0 {
		h.Fields.Reset()
	}
	if h.suspended != nil {
		h.suspended = nil
	}
	h.Status = 0
	h.ContentLength = 0
	h.Minor, h.Conn = 1, 0
}

// CopyTo makes dst an independent copy of h. What the parser has of an unfinished
// head is not copied, and what dst had of one is dropped.
func (h *ResponseHead) CopyTo(dst *ResponseHead) {
	h.Fields.CopyTo(&dst.Fields)
	dst.Status, dst.ContentLength, dst.Minor, dst.Conn = h.Status, h.ContentLength, h.Minor, h.Conn
	dst.suspended = nil
}
