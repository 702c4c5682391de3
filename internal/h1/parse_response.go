package h1

import "github.com/galehttp/gale/internal/msg"

// ParseResponse parses a response head; it is called like ParseRequest. The caller must
// handle framing that depends on the request (HEAD, CONNECT) and on the status (1xx, 204,
// 304); h.ContentLength is what the fields say. Framing is as strict as for requests: a
// response with two lengths, or with a length and a coding, is an *Error, because it may
// be an attempt at response splitting (RFC 9112 section 6.3 would allow more); but see
// Limits.Tunnel.
func ParseResponse(b []byte, h *msg.ResponseHead, lim *Limits) (n int, err error) {
	head := b
	maxHead := lim.head()
	if len(head) > maxHead {
		head = head[:maxHead]
	}
	var s msg.Scan
	if h.Suspended() {
		h.Resume(&s)
	}
	if s.Line == 0 && (s.Seen > 0 || !fastStatusLine(head, h, &s)) {
		err = parseStatusLine(head, h, &s, lim.dialect())
	}
	if err == nil {
		err = parseFields(head, &s, 0, &h.Fields, lim.fields(), lim.dialect())
	}
	if err != nil {
		if err == ErrPartial && len(head) == maxHead {
			err = ErrHeadTooLong
		}
		if err == ErrPartial {
			h.Suspend(&s)
		} else {
			refuseResponse(h)
		}
		return 0, err
	}
	n = s.Line
	h.Parts[msg.Raw].Len = uint32(n) - h.Parts[msg.Raw].Off
	h.Fill(head[:n])
	if s.Folds {
		h.Unfold()
	}
	both := h.Find(msg.ContentLength) >= 0 && h.Find(msg.TransferEncoding) >= 0
	h.ContentLength, err = framing(&h.Fields, h.Minor, s.Dups, lim.dialect())
	if err != nil && lim.opensTunnel(h.Status) {
		h.ContentLength, err = msg.LenUnknown, nil
	}
	if err != nil {
		refuseResponse(h)
		return 0, err
	}
	h.Conn = connection(&h.Fields, s.Dups)
	if s.Dups&(1<<msg.ContentType) != 0 {
		oneOnly(&h.Fields, msg.ContentType, lim.dialect().takesLastType())
	}
	if both {
		h.Conn |= msg.ConnClose
	}
	h.Verify()
	return n, nil
}

// refuseResponse empties h after a part of it was parsed. Reset alone would do nothing
// while h has neither bytes nor records.
func refuseResponse(h *msg.ResponseHead) {
	h.Fields.Reset()
	h.Reset()
}

// maxStatusSpaces is the highest offset at which a status code may begin.
const maxStatusSpaces = 16

// parseStatusLine parses the status line (RFC 9112 section 4):
//
//	status-line = HTTP-version SP status-code SP [ reason-phrase ] CRLF
//
// Many servers leave out the second space together with the reason; that is accepted. A
// status code is 100 to 999.
func parseStatusLine(b []byte, h *msg.ResponseHead, s *msg.Scan, d Dialect) error {
	minor, err := parseVersion(b, ' ')
	if err == ErrVersion && d.takesVersion0() && b[5] == '0' {
		err = nil
	}
	if err != nil {
		return err
	}
	code := 9 // "HTTP/1.1 200 OK"
	for d.takesStatusSpaces() && code < len(b) && code < maxStatusSpaces && b[code] == ' ' {
		code++
	}
	reason := code + 4
	for i := code; i < min(len(b), code+3); i++ {
		if c := b[i]; c < '0' || c > '9' || c == '0' && i == code {
			return ErrStatusLine
		}
	}
	if len(b) <= code+3 {
		return ErrPartial
	}
	end, from := code+3, code+3
	if b[end] == ' ' {
		from = reason
		end = skipText(b, max(s.Seen, reason))
		if end == len(b) {
			s.Seen = end
			return ErrPartial
		}
	}
	next := end + 2
	if d.takesBareLF() && b[end] == '\n' {
		next--
	} else if b[end] != '\r' {
		return ErrStatusLine
	}
	if err := lineEnd(b, end, s, ErrLineEnd); err != nil {
		return err
	}
	setStatusLine(h, minor, b[code:], from, end, next)
	if minor > 1 { // it counts, and is shown, as HTTP/1.1 (RFC 9110 section 2.5)
		h.Minor, h.Parts[msg.Proto] = 1, msg.Span{}
	}
	*s = msg.Scan{Line: next}
	return nil
}

// setStatusLine records a status line with the three digits of code. Its reason-phrase is
// from offset from to end, and the line ends at next.
func setStatusLine(h *msg.ResponseHead, minor uint8, code []byte, from, end, next int) {
	h.Minor = minor
	h.Status = int(code[0]-'0')*100 + int(code[1]-'0')*10 + int(code[2]-'0')
	h.Parts[msg.Proto] = msg.Span{Off: 0, Len: 8}
	h.Parts[msg.Reason] = msg.Span{Off: uint32(from), Len: uint32(end - from)}
	h.Parts[msg.Raw].Off = uint32(next)
}

// fastStatusLine parses common status lines: complete ones, with a short reason-phrase.
// For any other line it returns false and doesn't change h and s; parseStatusLine handles
// it.
func fastStatusLine(b []byte, h *msg.ResponseHead, s *msg.Scan) bool {
	const code, reason = 9, 13 // "HTTP/1.1 200 OK"
	if len(b) < reason+8+2 {
		return false
	}
	minor, ok := fastVersion(b)
	if !ok || b[code-1] != ' ' || b[reason-1] != ' ' {
		return false
	}
	if b[code]-'1' > 8 || b[code+1]-'0' > 9 || b[code+2]-'0' > 9 {
		return false
	}
	end := reason
	for {
		if m := notText(word(b[end:])); m != 0 {
			end += first(m)
			break
		}
		if end += 8; end > len(b)-8-2 {
			return false
		}
	}
	if b[end] != '\r' || b[end+1] != '\n' {
		return false
	}
	setStatusLine(h, minor, b[code:], reason, end, end+2)
	s.Line = end + 2
	return true
}
