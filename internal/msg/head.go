package msg

// Special lengths of a body.
const (
	// LenChunked: the body comes in the chunked coding, RFC 9112 section 7.1.
	LenChunked = -1
	// LenUnknown: no length was given. A request then has no body; the body of a response
	// ends with the connection (RFC 9112 section 6.3).
	LenUnknown = -2
	// LenUnsaid: the response to a HEAD says nothing about the length. Only package adaptor
	// sets it. If the response has a body, or answers another method, its body decides.
	LenUnsaid = -3
)

// MethodID is a number for each request method that Gale treats specially.
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

// Expectation is the meaning of the Expect field.
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

// RequestHead is a request line with its field section. The parser sets everything. Code
// that changes fields must update the values that are derived from them (ContentLength,
// Conn, Expect).
//
// A head is complete or empty: while the parser waits for the rest of a head, the parsed
// part is kept elsewhere (see Suspend) and isn't visible.
type RequestHead struct {
	// Fields has the field section and the parts Method (empty means GET), Target,
	// Authority, Proto and Raw.
	Fields
	requestFacts
	suspended *suspended
}

// requestFacts is what is known about a request head in addition to its bytes.
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

// Scan is the parser's state for a head of which only a part has arrived. All offsets are
// relative to the first byte of the head.
type Scan struct {
	// Line is the offset of the first line that is not parsed yet. Seen is the offset of
	// the first byte of that line that was not looked at, or 0 if that is the first byte
	// of the line.
	Line, Seen int
	// Sep are the offsets of the separators that were found in the unfinished line: the
	// spaces of a start line, or the colon of a field line. Seps is their number.
	Sep  [2]int
	Seps int
	// Dups has bit 1<<id set if there are several fields with that known id.
	Dups uint64
	// Folds says that there is a field with the flag Folded.
	Folds bool
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

// CopyTo makes dst an independent copy of h. The suspended part of an unfinished head is
// not copied, and that of dst is dropped.
func (h *RequestHead) CopyTo(dst *RequestHead) {
	dst.suspended = nil
	h.Fields.CopyTo(&dst.Fields)
	dst.requestFacts = h.requestFacts
}

// ResponseHead is a status line with its field section. Like a RequestHead it is complete
// or empty.
type ResponseHead struct {
	// Fields has the field section and the parts Reason, Proto and Raw.
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

// CopyTo makes dst an independent copy of h. The suspended part of an unfinished head is
// not copied, and that of dst is dropped.
func (h *ResponseHead) CopyTo(dst *ResponseHead) {
	h.Fields.CopyTo(&dst.Fields)
	dst.Status, dst.ContentLength, dst.Minor, dst.Conn = h.Status, h.ContentLength, h.Minor, h.Conn
	dst.suspended = nil
}
