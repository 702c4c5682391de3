package h1

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// ParseRequest parses a request head from the front of b into h. Call h.Reset before the
// first call. ParseRequest returns the number of bytes consumed: the head with its empty
// line, and the empty lines before it (RFC 9112 section 2.2; see EmptyLines).
//
// If b has only a part of a head, the error is ErrPartial and nothing is consumed. Call
// again with the same bytes and more after them; bytes that were already parsed are not
// looked at again. An *Error is final. It is returned as soon as the invalid byte is in
// b, even before the end of the line. lim may be nil.
//
// On success h owns a copy of the head and doesn't refer to b. After any error h is
// empty, as after Reset: what was parsed before ErrPartial isn't visible, and Reset drops
// it. A head is accepted only if all recipients must read it in the same way; see the
// package comment for the rules.
func ParseRequest(b []byte, h *msg.RequestHead, lim *Limits) (n int, err error) {
	var s msg.Scan
	start := 0
	if len(b) == 0 || b[0] <= '\r' || h.Suspended() {
		if start, err = beginRequest(b, h, &s, lim); err != nil {
			return 0, err
		}
	}
	head := b[start:]
	maxHead := lim.head()
	if len(head) > maxHead {
		head = head[:maxHead]
	}
	if s.Line == 0 && (s.Seen > 0 || !fastRequestLine(head, h, &s, lim.target())) {
		err = parseRequestLine(head, h, &s, lim)
	}
	if err == nil {
		err = parseFields(head, &s, 0, &h.Fields, lim.fields(), lim.dialect())
	}
	if err != nil {
		if err == ErrPartial && len(head) == maxHead {
			err = tooLong(&s)
		}
		unfinished(h, &s, err)
		return 0, err
	}
	n = s.Line
	h.Parts[msg.Raw].Len = uint32(n) - h.Parts[msg.Raw].Off
	h.Fill(head[:n])
	if s.Folds {
		h.Unfold()
	}
	if err := finishRequest(h, s.Dups, lim); err != nil {
		h.Reset()
		return 0, err
	}
	h.Verify()
	return start + n, nil
}

// beginRequest restores the part of h that was parsed before, and returns the offset of
// the first line.
func beginRequest(b []byte, h *msg.RequestHead, s *msg.Scan, lim *Limits) (start int, err error) {
	if h.Suspended() {
		h.Resume(s)
	}
	if len(b) > 0 && b[0] > '\r' {
		return 0, nil
	}
	var lines EmptyLines
	if start, err = lines.Skip(b, lim); err == nil && start == len(b) {
		err = ErrPartial
	}
	if err != nil {
		unfinished(h, s, err)
	}
	return start, err
}

// unfinished empties h after err. If err is ErrPartial, it keeps the parsed part for the
// next call.
func unfinished(h *msg.RequestHead, s *msg.Scan, err error) {
	if err == ErrPartial {
		h.Suspend(s)
		return
	}
	h.Reset()
}

// tooLong returns the error for a head that doesn't end within the limit.
func tooLong(s *msg.Scan) error {
	if s.Line == 0 && s.Seps == 1 {
		return ErrTargetTooLong
	}
	return ErrHeadTooLong
}

// parseRequestLine parses the request line (RFC 9112 section 3) at the front of b, or
// continues where s says:
//
//	request-line = method SP request-target SP HTTP-version CRLF
//
// There is exactly one space between the parts. The dialect may allow a bare LF at the
// end.
func parseRequestLine(b []byte, h *msg.RequestHead, s *msg.Scan, lim *Limits) error {
	if s.Seps == 0 {
		if err := scanMethod(b, s); err != nil {
			return err
		}
	}
	if s.Seps == 1 {
		if err := scanTarget(b, s, lim.target(), lim.dialect()); err != nil {
			return err
		}
	}
	method, target := s.Sep[0], s.Sep[1]
	end, next := byte('\r'), target+11
	if lim.dialect().takesBareLF() && len(b) > target+9 && b[target+9] == '\n' {
		end, next = '\n', target+10
	}
	minor, err := parseVersion(b[target+1:], end)
	if err == ErrVersion && lim.dialect().takesVersion0() && b[target+6] == '0' {
		err = nil
	}
	if err == ErrVersion && string(b[:target]) == "PRI *" {
		return ErrHTTP2Preface
	}
	if err != nil {
		return err
	}
	if len(b) < next {
		s.Seen = len(b)
		return ErrPartial
	}
	if b[next-1] != '\n' {
		return ErrLineEnd
	}
	h.MethodID = msg.LookupMethod(b[:method])
	setRequestLine(h, method, target, next, minor)
	if minor > 1 { // it is treated and shown as HTTP/1.1 (RFC 9110 section 2.5)
		h.Minor, h.Parts[msg.Proto] = 1, msg.Span{}
	}
	*s = msg.Scan{Line: next}
	return setTarget(b[method+1:target], h)
}

// setRequestLine records a request line whose spaces are at the offsets method and
// target, and whose end is at next.
func setRequestLine(h *msg.RequestHead, method, target, next int, minor uint8) {
	h.Minor = minor
	h.ContentLength = msg.LenUnknown
	h.Parts[msg.Method].Len = uint32(method)
	h.Parts[msg.Target] = msg.Span{Off: uint32(method + 1), Len: uint32(target - method - 1)}
	h.Parts[msg.Proto] = msg.Span{Off: uint32(target + 1), Len: 8}
	h.Parts[msg.Raw].Off = uint32(next)
}

// Words at the beginning and the end of a request line, as they are in memory.
const (
	wordGet    = 'G' | 'E'<<8 | 'T'<<16 | ' '<<24
	wordPut    = 'P' | 'U'<<8 | 'T'<<16 | ' '<<24
	wordHead   = 'H' | 'E'<<8 | 'A'<<16 | 'D'<<24
	wordPost   = 'P' | 'O'<<8 | 'S'<<16 | 'T'<<24
	wordHTTP1x = 'H' | 'T'<<8 | 'T'<<16 | 'P'<<24 | '/'<<32 | '1'<<40 | '.'<<48
)

// fastRequestLine parses common request lines: complete ones, with a usual method and a
// target in origin-form. For any other line it returns false and doesn't change h and s;
// parseRequestLine handles it.
func fastRequestLine(b []byte, h *msg.RequestHead, s *msg.Scan, maxTarget int) bool {
	if len(b) < 24 {
		return false
	}
	method, id := 4, msg.MethodPost
	switch uint32(word(b)) {
	case wordGet:
		method, id = 3, msg.MethodGet
	case wordPut:
		method, id = 3, msg.MethodPut
	case wordHead:
		id = msg.MethodHead
	case wordPost:
	default:
		return false
	}
	if b[method] != ' ' || b[method+1] != '/' {
		return false
	}
	i := method + 2
	if m := notTarget(word(b[i:])); m != 0 {
		i += first(m) // the end of a short target, or a byte that fastRequestLine doesn't handle
	} else {
		i = skipTarget(b, i+8)
	}
	if i > len(b)-11 || b[i] != ' ' || i-method-1 > maxTarget {
		return false
	}
	minor, ok := fastVersion(b[i+1:])
	if !ok || b[i+9] != '\r' || b[i+10] != '\n' {
		return false
	}
	h.MethodID = id
	h.Form = msg.FormOrigin
	setRequestLine(h, method, i, i+11, minor)
	s.Line = i + 11
	return true
}

// fastVersion parses "HTTP/1.0" or "HTTP/1.1" at the front of b, which has eight bytes.
func fastVersion(b []byte) (minor uint8, ok bool) {
	w := word(b)
	minor = uint8(w>>56) - '0'
	return minor, w<<8>>8 == wordHTTP1x && minor <= 1
}

func scanMethod(b []byte, s *msg.Scan) error {
	i := s.Seen
	for i < len(b) && bytesconv.Token[b[i]] {
		i++
	}
	switch {
	case i > maxMethod:
		return ErrMethodTooLong
	case i == len(b):
		s.Seen = i
		return ErrPartial
	case b[i] == ' ' && i > 0:
		s.Sep[0], s.Seps, s.Seen = i, 1, i+1
		return nil
	case b[0] == 0x16: // the first byte of a TLS handshake record
		return ErrTLSHello
	case b[i] == '\r' || b[i] == '\n':
		return ErrLineEnd
	}
	return ErrMethod
}

func scanTarget(b []byte, s *msg.Scan, maxTarget int, d Dialect) error {
	from := s.Sep[0] + 1
	i := skipTarget(b, s.Seen)
	for d.takesFragment() && i < len(b) && b[i] == '#' {
		i = skipTarget(b, i+1)
	}
	switch {
	case i-from > maxTarget:
		return ErrTargetTooLong
	case i == len(b):
		s.Seen = i
		return ErrPartial
	case b[i] == ' ' && i > from:
		s.Sep[1], s.Seps, s.Seen = i, 2, i+1
		return nil
	case b[i] == '\n':
		return ErrLineEnd
	}
	return ErrTarget
}

// parseVersion parses "HTTP/1.0" to "HTTP/1.9" with the byte end after it. It
// returns ErrPartial if b ends too early and fits so far, ErrVersion for another
// major version in the right form.
//
//	HTTP-version = "HTTP/" DIGIT "." DIGIT
func parseVersion(b []byte, end byte) (minor uint8, err error) {
	const form = "HTTP/d.d"
	for i := range min(len(b), len(form)) {
		c := b[i]
		if form[i] == 'd' && '0' <= c && c <= '9' || form[i] == c && c != 'd' {
			continue
		}
		return 0, ErrVersionSyntax
	}
	if len(b) <= len(form) {
		return 0, ErrPartial
	}
	if b[len(form)] != end {
		return 0, ErrVersionSyntax
	}
	if b[5] != '1' {
		return 0, ErrVersion
	}
	return b[7] - '0', nil
}
