package h1

import (
	"slices"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

const (
	// responseLeading are the fields that come before the others.
	responseLeading uint64 = 1<<msg.Server | 1<<msg.Date | 1<<msg.ContentType | 1<<msg.ContentEncoding
	// responseFramed are the fields about the length. They are not written from records.
	responseFramed uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding
	// responseTrailing are the fields that come after the others.
	responseTrailing uint64 = 1<<msg.Trailer | 1<<msg.SetCookie | 1<<msg.Connection

	responsePlaced = responseLeading | responseFramed | responseTrailing
)

// AppendResponseHead appends the status line, the fields and the empty line (RFC 9112
// section 4): first Server, Date, Content-Type, Content-Encoding and Content-Length, then
// the others in order, then Transfer-Encoding, Trailer, Set-Cookie and Connection. o is
// the opening of an earlier response of r; AppendResponseHead sets it to the opening of
// this one.
func AppendResponseHead(dst []byte, r *head.Response, o *Opening, by head.Sender) []byte {
	r.Verify()
	if n := r.ContentLength; r.Seen()&responsePlaced == 0 && (n > 0 || n == 0 && by.ZeroLength) &&
		isPlainOK(r) && r.Conn == 0 && r.Minor != 0 {
		if lines, ok := r.Lines(); ok {
			return appendPlain(dst, o.of(r, &by), lines)
		}
	}
	return appendResponse(dst, r, &by)
}

// appendPlain is AppendResponseHead for the common case: a 200 with a length, whose
// fields are in the arena exactly as they are sent. It needs only two copies
// (BenchmarkHeadAppend).
func appendPlain(dst, opening, lines []byte) []byte {
	if len(lines) == 0 {
		return append(dst, opening...)
	}
	if need := len(opening) + len(lines); cap(dst)-len(dst) < need {
		dst = slices.Grow(dst, need)
	}
	dst = append(dst, opening[:len(opening)-len("\r\n")]...)
	dst = append(dst, lines...)
	return append(dst, '\r', '\n')
}

// appendResponse is AppendResponseHead for every response.
func appendResponse(dst []byte, r *head.Response, by *head.Sender) []byte {
	f := &r.Fields
	dst = appendResponseLine(dst, r)
	dst = appendLeading(dst, r, by)
	dst = appendFraming(dst, r, by)
	if len(f.Recs) > 0 {
		dst = f.AppendLines(dst, responsePlaced, r.Spelling)
	}
	if r.Chunked() {
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	if len(f.Recs) > 0 && f.Seen()&responseTrailing != 0 {
		names := r.Trailers.Announced(f, r.ContentLength == msg.LenChunked, r.Spelling)
		dst = AppendField(dst, "Trailer", names)
		dst = appendRecords(dst, f, msg.SetCookie)
	}
	if r.MayClose() || f.Seen()&(1<<msg.Connection) != 0 {
		var buf []byte
		dst = AppendField(dst, "Connection", r.Connection(&buf))
	}
	return append(dst, "\r\n"...)
}

// isPlainOK reports whether the status line is the usual one of a 200.
func isPlainOK(r *head.Response) bool {
	return (r.Status == 0 || r.Status == 200) && r.Parts[msg.Reason].Len|r.Parts[msg.Proto].Len == 0
}

func appendResponseLine(dst []byte, r *head.Response) []byte {
	from := len(dst)
	status := r.Status
	if status == 0 {
		status = 200
	}
	dst = AppendStatusLine(dst, status, r.Part(msg.Reason))
	p := r.Part(msg.Proto)
	if len(p) == 0 || string(p) == "HTTP/1.1" || string(p) == "HTTP/2.0" {
		return dst
	}
	line := string(dst[from+len("HTTP/1.1"):])
	return append(append(dst[:from], p...), line...)
}

// appendLeading appends Server, Date, Content-Type and Content-Encoding.
func appendLeading(dst []byte, r *head.Response, by *head.Sender) []byte {
	f := &r.Fields
	switch {
	case r.Implied&head.ServerSlot != 0:
		dst = AppendField(dst, "Server", r.Slot(msg.Server))
	case f.Has(msg.Server):
		dst = f.AppendKnown(dst, msg.Server)
	default:
		dst = appendSender(dst, by.Server)
	}
	switch {
	case f.Has(msg.Date):
		dst = f.AppendKnown(dst, msg.Date)
	case r.Implied&head.NoDate == 0:
		dst = append(dst, "Date: "...)
		dst = append(dst, by.Date[:]...)
		dst = append(dst, "\r\n"...)
	}
	switch {
	case r.Implied&head.TypeSlot != 0:
		dst = AppendField(dst, "Content-Type", r.Slot(msg.ContentType))
	case r.ImpliesType():
		dst = append(dst, "Content-Type: "+head.DefaultResponseType+"\r\n"...)
	default:
		dst = appendRecords(dst, f, msg.ContentType)
	}
	return appendRecords(dst, f, msg.ContentEncoding)
}

// appendSender appends the Server field with the server's own name, which no setter has
// checked.
func appendSender(dst []byte, server string) []byte {
	if len(server) == 0 {
		return dst
	}
	dst = append(dst, "Server: "...)
	dst = append(dst, server...)
	bytesconv.NeutralizeText(dst[len(dst)-len(server):])
	return append(dst, "\r\n"...)
}

// appendFraming appends the length of the body, if it has one.
func appendFraming(dst []byte, r *head.Response, by *head.Sender) []byte {
	if n, ok := r.Length(by.ZeroLength); ok {
		return appendLength(dst, n)
	}
	if r.Status == 304 {
		// A proxy may forward the fields of a received 304: RFC 9110 section 15.4.5 and
		// RFC 9112 section 6.1 allow both fields without a body.
		dst = appendRecords(dst, &r.Fields, msg.ContentLength)
		dst = appendRecords(dst, &r.Fields, msg.TransferEncoding)
	}
	return dst
}

// AppendInterimHead appends the head of an informational response (RFC 9110 section
// 15.2), without the empty line: the status line and the records of r, which may be
// nil, except those that belong to a body or the connection.
func AppendInterimHead(dst []byte, status int, r *head.Response) []byte {
	dst = AppendStatusLine(dst, status, nil)
	if r != nil {
		dst = r.AppendLines(dst, responseFramed|1<<msg.Connection|head.TrailerBit, r.Spelling)
	}
	return dst
}
