package gale

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// Method returns the request method, or "GET" if none was set. The bytes are borrowed:
// they are valid until h changes or the handler returns.
func (h *RequestHeader) Method() []byte {
	if m := h.s.Part(msg.Method); len(m) > 0 {
		return m
	}
	return h.noMethod()
}

// noMethod is Method for a request without one.
func (h *RequestHeader) noMethod() []byte {
	used(h.s.Loan)
	return append(h.get[:0], MethodGet...)
}

// SetMethod sets the request method. An empty method means GET. If method isn't a
// token (RFC 9110 section 9.1), the method stays as it was.
func (h *RequestHeader) SetMethod(method string) { h.SetMethodBytes(bytesconv.S2B(method)) }

// SetMethodBytes is [RequestHeader.SetMethod] for a []byte.
func (h *RequestHeader) SetMethodBytes(method []byte) {
	if string(method) == MethodGet && h.s.Parts[msg.Method].Len == 0 {
		if h.s.MethodID != msg.MethodGet { // as in a header that has lapsed
			used(h.s.Loan)
			h.s.MethodID = msg.MethodGet // no method means GET
		}
		return
	}
	if len(method) > 0 && !bytesconv.IsToken(method) {
		return
	}
	h.s.SetPart(msg.Method, method)
	h.s.MethodID = msg.LookupMethod(method)
}

// RequestURI returns the request-target as it was received or set, or "/" if there is none
// (RFC 9112 section 3.2). The bytes are borrowed: they are valid until h changes or the
// handler returns.
func (h *RequestHeader) RequestURI() []byte {
	if t := h.s.Part(msg.Target); len(t) > 0 {
		return t
	}
	used(h.s.Loan)
	return strSlash
}

// target is RequestURI for code of the library that has looked at the loan already.
func (h *RequestHeader) target() []byte {
	if t := h.s.Part(msg.Target); len(t) > 0 {
		return t
	}
	return strSlash
}

// SetRequestURI sets the request-target. It should be escaped already;
// URI.RequestURI builds one from parts. CR, LF and NUL become spaces. Other bytes
// that can't be in a request line are escaped when the header is written. A target
// that begins with "?" gets the path "/".
//
// It has no effect on a request whose URI was asked for before, for example by RequestCtx.Path or
// Host: that URI is sent. Use [Request.SetRequestURI] then.
func (h *RequestHeader) SetRequestURI(requestURI string) {
	h.SetRequestURIBytes(bytesconv.S2B(requestURI))
}

// SetRequestURIBytes is [RequestHeader.SetRequestURI] for a []byte.
func (h *RequestHeader) SetRequestURIBytes(requestURI []byte) {
	if len(requestURI) > 0 && requestURI[0] == '?' {
		requestURI = append([]byte{'/'}, requestURI...)
	}
	h.s.SetPart(msg.Target, requestURI)
	bytesconv.NeutralizeLine(h.s.Part(msg.Target))
}

// Protocol returns the version of the request line, or "HTTP/1.1" if none was set. The
// bytes are borrowed: they are valid until h changes or the handler returns.
func (h *RequestHeader) Protocol() []byte {
	if p := h.s.Part(msg.Proto); len(p) > 0 {
		return p
	}
	used(h.s.Loan)
	return strHTTP11
}

// SetProtocol sets the version of the request line; control characters in it
// become spaces.
func (h *RequestHeader) SetProtocol(protocol string) {
	h.SetProtocolBytes(bytesconv.S2B(protocol))
}

// SetProtocolBytes is [RequestHeader.SetProtocol] for a []byte.
func (h *RequestHeader) SetProtocolBytes(protocol []byte) {
	setProtocol(&h.s.Fields, &h.s.Minor, protocol)
}

// IsHTTP11 reports whether the version is HTTP/1.1.
func (h *RequestHeader) IsHTTP11() bool { return string(h.Protocol()) == "HTTP/1.1" }

// goesAsHTTP11 reports whether the request is sent as HTTP/1.1. So are requests that
// arrived over HTTP/2 (h1.AppendRequestHead).
func (h *RequestHeader) goesAsHTTP11() bool {
	p := h.Protocol()
	return string(p) == "HTTP/1.1" || string(p) == "HTTP/2.0"
}

// IsGet reports whether the method is GET.
func (h *RequestHeader) IsGet() bool {
	return h.s.MethodID == msg.MethodGet || h.s.Parts[msg.Method].Len == 0 && h.isNone()
}

// isNone returns true, for a request without a method.
//
//go:noinline so that IsGet is inlined
func (h *RequestHeader) isNone() bool {
	used(h.s.Loan)
	return true
}

// is reports whether the method is m, which isn't GET.
func (h *RequestHeader) is(m msg.MethodID) bool {
	return h.s.MethodID == m || h.s.MethodID == msg.MethodOther && h.isUnknown()
}

// isUnknown returns false, for a request with another method than the known ones, or none.
//
//go:noinline so that is is inlined
func (h *RequestHeader) isUnknown() bool {
	used(h.s.Loan)
	return false
}

// IsHead reports whether the method is HEAD.
func (h *RequestHeader) IsHead() bool { return h.is(msg.MethodHead) }

// IsPost reports whether the method is POST.
func (h *RequestHeader) IsPost() bool { return h.is(msg.MethodPost) }

// IsPut reports whether the method is PUT.
func (h *RequestHeader) IsPut() bool { return h.is(msg.MethodPut) }

// IsDelete reports whether the method is DELETE.
func (h *RequestHeader) IsDelete() bool { return h.is(msg.MethodDelete) }

// IsConnect reports whether the method is CONNECT.
func (h *RequestHeader) IsConnect() bool { return h.is(msg.MethodConnect) }

// IsOptions reports whether the method is OPTIONS.
func (h *RequestHeader) IsOptions() bool { return h.is(msg.MethodOptions) }

// IsTrace reports whether the method is TRACE.
func (h *RequestHeader) IsTrace() bool { return h.is(msg.MethodTrace) }

// IsPatch reports whether the method is PATCH (RFC 5789).
func (h *RequestHeader) IsPatch() bool { return h.is(msg.MethodPatch) }

// IsQuery reports whether the method is QUERY.
func (h *RequestHeader) IsQuery() bool { return h.is(msg.MethodQuery) }
