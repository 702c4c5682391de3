package gale

import (
	"iter"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/msg"
)

// SetTrailer declares the trailer fields of a request with a chunked body (RFC 9110
// section 6.6.2). They replace the ones declared before. trailer is a list of names
// separated by commas. Set gives a declared field its value, before or after this
// call; the field is then sent after the body instead of in the header.
//
// Names that must not be in a trailer section are left out (RFC 9110 section
// 6.5.1): fields for framing, routing and authentication, request modifiers, and
// fields that are needed to read the body. Invalid names, and names beyond the
// limit of 128, are left out too. In all these cases the error is [ErrBadTrailer].
// Fields that are no longer declared are sent in the header; only those that a
// server received in the trailer section are dropped.
//
// A received Trailer header doesn't count as a declaration: Set still changes the
// header, whatever names the Trailer header lists.
func (h *RequestHeader) SetTrailer(trailer string) error {
	return h.SetTrailerBytes(bytesconv.S2B(trailer))
}

// SetTrailerBytes is [RequestHeader.SetTrailer] for a []byte.
func (h *RequestHeader) SetTrailerBytes(trailer []byte) error {
	used(h.s.Loan)
	return trailerError(h.s.Trailers.Declare(&h.s.Fields, trailer, h.s.Spelling))
}

// AddTrailer declares further trailer fields; see SetTrailer.
func (h *RequestHeader) AddTrailer(trailer string) error {
	return h.AddTrailerBytes(bytesconv.S2B(trailer))
}

// AddTrailerBytes is [RequestHeader.AddTrailer] for a []byte.
func (h *RequestHeader) AddTrailerBytes(trailer []byte) error {
	used(h.s.Loan)
	return trailerError(h.s.Trailers.DeclareMore(&h.s.Fields, trailer, h.s.Spelling))
}

// Trailers returns an iterator over the names of the trailer fields that were
// declared by the program or by a received Trailer field, or that were received.
// The header may be changed during the iteration. The bytes are borrowed: they are
// valid until h changes or the handler returns.
func (h *RequestHeader) Trailers() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		used(h.s.Loan)
		l := h.s.Trailers.Declared(&h.s.Fields, h.s.Spelling)
		if l == nil {
			return
		}
		for name := range l.All() {
			if !yield(name) {
				return
			}
		}
	}
}

// VisitAllTrailer calls f for each name that Trailers yields. The bytes are
// borrowed: they are valid until f returns.
//
// Deprecated: use Trailers.
func (h *RequestHeader) VisitAllTrailer(f func(value []byte)) {
	for name := range h.Trailers() {
		f(name)
	}
}

// PeekTrailerKeys returns the names that Trailers yields. The outer slice is
// overwritten by the next call. The bytes are borrowed: they are valid until h
// changes or the handler returns.
func (h *RequestHeader) PeekTrailerKeys() [][]byte {
	used(h.s.Loan)
	h.text.trailers = h.text.trailers[:0]
	if l := h.s.Trailers.Declared(&h.s.Fields, h.s.Spelling); l != nil {
		for i := range l.Len() {
			h.text.trailers = append(h.text.trailers, l.At(i))
		}
	}
	return h.text.trailers
}

// TrailerHeader returns the trailer section as it is written after a chunked body,
// with the empty line: one line for each value of a declared field. The bytes are
// borrowed: they are valid until h changes or the handler returns. The next call
// overwrites them.
func (h *RequestHeader) TrailerHeader() []byte {
	used(h.s.Loan)
	h.text.trailer = lifetime.Kept(h.s.Loan, h.text.trailer, h1.AppendTrailers(h.text.trailer[:0], &h.s.Trailers, h.s.Spelling))
	return h.text.trailer
}

// AddTrailerValue adds a field to the trailer section and declares it. Unlike
// AddTrailer and Set, it leaves fields of that name in the header. It doesn't add
// names that AddTrailer refuses; the error is then [ErrBadTrailer].
func (h *RequestHeader) AddTrailerValue(name, value string) error {
	used(h.s.Loan)
	return trailerError(h.s.Trailers.AddValue(&h.s.Fields, bytesconv.S2B(name), bytesconv.S2B(value), h.s.Spelling))
}

// takeTrailers takes over the fields of a received trailer section.
func (h *RequestHeader) takeTrailers(from *msg.Fields) {
	h.s.Trailers.Receive(&h.s.Fields, from, h.s.Spelling, head.ShownAll, false)
}

// SetTrailer declares the trailer fields of a response with a chunked body (RFC
// 9110 section 6.6.2). They replace the ones declared before. trailer is a list of
// names separated by commas. Set gives a declared field its value, before or after
// this call; the field is then sent after the body instead of in the header.
//
// Names that must not be in a trailer section are left out (RFC 9110 section
// 6.5.1): fields for framing, routing and authentication, request modifiers, and
// fields that are needed to read the body. Invalid names, and names beyond the
// limit of 128, are left out too. In all these cases the error is [ErrBadTrailer].
// Fields that are no longer declared are sent in the header; only those that a
// server received in the trailer section are dropped.
//
// A received Trailer header doesn't count as a declaration: Set still changes the
// header, whatever names the Trailer header lists.
func (h *ResponseHeader) SetTrailer(trailer string) error {
	return h.SetTrailerBytes(bytesconv.S2B(trailer))
}

// SetTrailerBytes is [ResponseHeader.SetTrailer] for a []byte.
func (h *ResponseHeader) SetTrailerBytes(trailer []byte) error {
	used(h.s.Loan)
	h.s.Record()
	return trailerError(h.s.Trailers.Declare(&h.s.Fields, trailer, h.s.Spelling))
}

// AddTrailer declares further trailer fields; see SetTrailer.
func (h *ResponseHeader) AddTrailer(trailer string) error {
	return h.AddTrailerBytes(bytesconv.S2B(trailer))
}

// AddTrailerBytes is [ResponseHeader.AddTrailer] for a []byte.
func (h *ResponseHeader) AddTrailerBytes(trailer []byte) error {
	used(h.s.Loan)
	h.s.Record()
	return trailerError(h.s.Trailers.DeclareMore(&h.s.Fields, trailer, h.s.Spelling))
}

// Trailers returns an iterator over the names of the trailer fields that were
// declared by the program or by a received Trailer field, or that were received.
// The header may be changed during the iteration. The bytes are borrowed: they are
// valid until h changes or the handler returns.
func (h *ResponseHeader) Trailers() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		used(h.s.Loan)
		l := h.s.Trailers.Declared(&h.s.Fields, h.s.Spelling)
		if l == nil {
			return
		}
		for name := range l.All() {
			if !yield(name) {
				return
			}
		}
	}
}

// VisitAllTrailer calls f for each name that Trailers yields. The bytes are
// borrowed: they are valid until f returns.
//
// Deprecated: use Trailers.
func (h *ResponseHeader) VisitAllTrailer(f func(value []byte)) {
	for name := range h.Trailers() {
		f(name)
	}
}

// PeekTrailerKeys returns the names that Trailers yields. The outer slice is
// overwritten by the next call. The bytes are borrowed: they are valid until h
// changes or the handler returns.
func (h *ResponseHeader) PeekTrailerKeys() [][]byte {
	used(h.s.Loan)
	h.text.trailers = h.text.trailers[:0]
	if l := h.s.Trailers.Declared(&h.s.Fields, h.s.Spelling); l != nil {
		for i := range l.Len() {
			h.text.trailers = append(h.text.trailers, l.At(i))
		}
	}
	return h.text.trailers
}

// TrailerHeader returns the trailer section as it is written after a chunked body,
// with the empty line: one line for each value of a declared field. The bytes are
// borrowed: they are valid until h changes or the handler returns. The next call
// overwrites them.
func (h *ResponseHeader) TrailerHeader() []byte {
	used(h.s.Loan)
	h.text.trailer = lifetime.Kept(h.s.Loan, h.text.trailer, h1.AppendTrailers(h.text.trailer[:0], &h.s.Trailers, h.s.Spelling))
	return h.text.trailer
}

// AddTrailerValue adds a field to the trailer section and declares it. Unlike
// AddTrailer and Set, it leaves fields of that name in the header. It doesn't add
// names that AddTrailer refuses; the error is then [ErrBadTrailer].
func (h *ResponseHeader) AddTrailerValue(name, value string) error {
	used(h.s.Loan)
	return trailerError(h.s.Trailers.AddValue(&h.s.Fields, bytesconv.S2B(name), bytesconv.S2B(value), h.s.Spelling))
}

// takeTrailers takes over the fields of a received trailer section.
func (h *ResponseHeader) takeTrailers(from *msg.Fields) {
	h.s.Record()
	h.s.Trailers.Receive(&h.s.Fields, from, h.s.Spelling, head.ShownAll, false)
}

// trailerError turns the error of package head, which has only one, into that of
// the API.
func trailerError(err error) error {
	if err != nil {
		return ErrBadTrailer
	}
	return nil
}
