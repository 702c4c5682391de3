package gale

import (
	"iter"

	"github.com/galehttp/gale/internal/bytesconv"
)

// SetTrailer declares the trailer fields of a request in the chunked coding
// (RFC 9110 section 6.6.2), in place of those declared before. trailer is a list
// of names separated by commas. Set gives them values, before or after this call;
// they are then sent behind the body instead of in the header.
//
// Fields for framing, routing, authentication and request modifiers, and those
// that tell how to read the body, must not come that late (RFC 9110 section
// 6.5.1): they are left out, as is what is no name, and the error is then
// [ErrBadTrailer]. Fields that are no longer declared are sent in the header.
func (h *RequestHeader) SetTrailer(trailer string) error {
	return h.SetTrailerBytes(bytesconv.S2B(trailer))
}

// SetTrailerBytes is [RequestHeader.SetTrailer] for a []byte.
func (h *RequestHeader) SetTrailerBytes(trailer []byte) error {
	return h.declareTrailers(nil, trailer)
}

// AddTrailer declares further trailer fields; see SetTrailer.
func (h *RequestHeader) AddTrailer(trailer string) error {
	return h.AddTrailerBytes(bytesconv.S2B(trailer))
}

// AddTrailerBytes is [RequestHeader.AddTrailer] for a []byte.
func (h *RequestHeader) AddTrailerBytes(trailer []byte) error {
	return h.declareTrailers(declaredTrailers(&h.s.Fields, h.asIs), trailer)
}

func (h *RequestHeader) declareTrailers(before, trailer []byte) error {
	list, err := appendTrailers(append(h.text.list[:0], before...), trailer, h.asIs)
	h.text.list = list
	h.late.declare(&h.s.Fields, list, h.asIs)
	return err
}

// Trailers returns an iterator over the names of the trailer fields that are
// declared or were received.
func (h *RequestHeader) Trailers() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for list := declaredTrailers(&h.s.Fields, h.asIs); len(list) > 0; {
			var name []byte
			name, list = nextElement(list)
			if !yield(name) {
				return
			}
		}
	}
}

// VisitAllTrailer calls f for each name that Trailers yields.
//
// Deprecated: use Trailers.
func (h *RequestHeader) VisitAllTrailer(f func(value []byte)) {
	for name := range h.Trailers() {
		f(name)
	}
}

// PeekTrailerKeys returns the names that Trailers yields. The slice of slices is
// used again by the next call.
func (h *RequestHeader) PeekTrailerKeys() [][]byte {
	h.text.trailers = h.text.trailers[:0]
	for name := range h.Trailers() {
		h.text.trailers = append(h.text.trailers, name)
	}
	return h.text.trailers
}

// TrailerHeader returns the trailer section as it is written behind a chunked
// body, with the empty line: one line for each value of a declared field. The
// next call uses the memory again.
func (h *RequestHeader) TrailerHeader() []byte {
	h.text.trailer = h.late.appendSection(h.text.trailer[:0], h.asIs)
	return h.text.trailer
}

// AddTrailerValue adds a field to the trailer section and declares it, and leaves
// fields of that name in the header where they are, which AddTrailer and Set
// don't. Names that AddTrailer refuses are left out, and the error is then
// [ErrBadTrailer]. Not in fasthttp.
func (h *RequestHeader) AddTrailerValue(name, value string) error {
	return h.late.take(&h.s.Fields, bytesconv.S2B(name), bytesconv.S2B(value), h.asIs)
}

// takeTrailer adds a trailer field that was received: it is declared, and
// found behind what the header says. A field that must not be in a trailer section
// is left out.
func (h *RequestHeader) takeTrailer(name, value []byte) {
	_ = h.late.take(&h.s.Fields, name, value, h.asIs)
}

// SetTrailer declares the trailer fields of a response in the chunked coding
// (RFC 9110 section 6.6.2), in place of those declared before. trailer is a list
// of names separated by commas. Set gives them values, before or after this call;
// they are then sent behind the body instead of in the header.
//
// Fields for framing, routing, authentication and request modifiers, and those
// that tell how to read the body, must not come that late (RFC 9110 section
// 6.5.1): they are left out, as is what is no name, and the error is then
// [ErrBadTrailer]. Fields that are no longer declared are sent in the header.
func (h *ResponseHeader) SetTrailer(trailer string) error {
	return h.SetTrailerBytes(bytesconv.S2B(trailer))
}

// SetTrailerBytes is [ResponseHeader.SetTrailer] for a []byte.
func (h *ResponseHeader) SetTrailerBytes(trailer []byte) error {
	return h.declareTrailers(nil, trailer)
}

// AddTrailer declares further trailer fields; see SetTrailer.
func (h *ResponseHeader) AddTrailer(trailer string) error {
	return h.AddTrailerBytes(bytesconv.S2B(trailer))
}

// AddTrailerBytes is [ResponseHeader.AddTrailer] for a []byte.
func (h *ResponseHeader) AddTrailerBytes(trailer []byte) error {
	return h.declareTrailers(declaredTrailers(&h.s.Fields, h.asIs), trailer)
}

func (h *ResponseHeader) declareTrailers(before, trailer []byte) error {
	list, err := appendTrailers(append(h.text.list[:0], before...), trailer, h.asIs)
	h.text.list = list
	h.declare(list)
	return err
}

func (h *ResponseHeader) declare(list []byte) {
	h.record()
	h.late.declare(&h.s.Fields, list, h.asIs)
}

// Trailers returns an iterator over the names of the trailer fields that are
// declared or were received.
func (h *ResponseHeader) Trailers() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for list := declaredTrailers(&h.s.Fields, h.asIs); len(list) > 0; {
			var name []byte
			name, list = nextElement(list)
			if !yield(name) {
				return
			}
		}
	}
}

// VisitAllTrailer calls f for each name that Trailers yields.
//
// Deprecated: use Trailers.
func (h *ResponseHeader) VisitAllTrailer(f func(value []byte)) {
	for name := range h.Trailers() {
		f(name)
	}
}

// PeekTrailerKeys returns the names that Trailers yields. The slice of slices is
// used again by the next call.
func (h *ResponseHeader) PeekTrailerKeys() [][]byte {
	h.text.trailers = h.text.trailers[:0]
	for name := range h.Trailers() {
		h.text.trailers = append(h.text.trailers, name)
	}
	return h.text.trailers
}

// TrailerHeader returns the trailer section as it is written behind a chunked
// body, with the empty line: one line for each value of a declared field. The
// next call uses the memory again.
func (h *ResponseHeader) TrailerHeader() []byte {
	h.text.trailer = h.late.appendSection(h.text.trailer[:0], h.asIs)
	return h.text.trailer
}

// AddTrailerValue adds a field to the trailer section and declares it, and leaves
// fields of that name in the header where they are, which AddTrailer and Set
// don't. Names that AddTrailer refuses are left out, and the error is then
// [ErrBadTrailer]. Not in fasthttp.
func (h *ResponseHeader) AddTrailerValue(name, value string) error {
	return h.late.take(&h.s.Fields, bytesconv.S2B(name), bytesconv.S2B(value), h.asIs)
}

// takeTrailer adds a trailer field that was received: it is declared, and
// found behind what the header says. A field that must not be in a trailer section
// is left out.
func (h *ResponseHeader) takeTrailer(name, value []byte) {
	h.record()
	_ = h.late.take(&h.s.Fields, name, value, h.asIs)
}
