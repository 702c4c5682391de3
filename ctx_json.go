package gale

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/pool"
)

const jsonType = "application/json"

// JSON answers with v as JSON. It sets the status code, sets Content-Type to
// application/json, and sets the body to what json.Marshal returns for v: & < > are
// escaped, and there is no newline at the end. Other headers of the response stay.
//
// If v can't be encoded, JSON returns the error of encoding/json and doesn't change the
// response.
func (ctx *RequestCtx) JSON(status int, v any) error {
	used(ctx.loan)
	b := pool.Get(0)
	if err := json.NewEncoder(b).Encode(v); err != nil {
		pool.Put(b)
		return err
	}
	if n := len(b.B); n > 0 && b.B[n-1] == '\n' {
		b.B = b.B[:n-1]
	}
	ctx.Response.takeBody(b)
	ctx.SetStatusCode(status)
	ctx.SetContentType(jsonType)
	return nil
}

// BindError says why [RequestCtx.BindJSON] could not read the body of a request. Its text
// is meant for the client of an API: it says what is wrong with the body and where. It
// contains no name of a Go type and doesn't begin with "gale:".
type BindError struct {
	// Status is the status code for the response: 415 for a body of another media type or
	// with a content coding, 413 for one that is too large, 408 for one that came too
	// slowly, 400 for one that is malformed or incomplete, and 500 if v is not something
	// that JSON can be decoded into.
	Status int
	// Offset is how many bytes of the body were read before the error, 0 if that isn't
	// known or the error isn't in the body.
	Offset int64
	// Field is the path of the value that has the wrong type, such as "user.age": JSON
	// names, separated by dots. It is empty for other errors and for the outermost value.
	Field string

	text string
	err  error
}

// Error says what is wrong with the body.
func (e *BindError) Error() string {
	if e.text == "" {
		return "the body could not be read"
	}
	return e.text
}

// Unwrap returns the cause of e, nil if there is none. Its text is for logs.
func (e *BindError) Unwrap() error { return e.err }

// BindJSON decodes the body of the request, as JSON, into v, which must be a pointer. It
// follows the rules of json.Unmarshal: unknown members are ignored, and names match
// case-insensitively. v doesn't refer to memory of the request afterwards. After an
// error, parts of v may be set.
//
// Content-Type must be application/json, or another type that ends in +json (RFC 6839),
// in UTF-8. So a page of another site can't make a browser send such a request without a
// CORS preflight. A request with Content-Encoding is refused.
//
// A streamed body (see Server.StreamRequestBody) is read to its end, which may block. At
// most as many bytes are read as LimitRequestBody allows, or else
// Server.MaxRequestBodySize. Afterwards the body is in memory and PostBody returns it.
//
// The error is a *[BindError]. Its Status is the one to answer with.
func (ctx *RequestCtx) BindJSON(v any) error {
	used(ctx.loan)
	h := &ctx.Request.Header
	if !isJSON(h.ContentType()) {
		return &BindError{Status: StatusUnsupportedMediaType, text: "the body must be application/json in UTF-8"}
	}
	if c, ok := contentCoding(&h.s.Fields); !ok || c != compress.Identity {
		return &BindError{Status: StatusUnsupportedMediaType, text: "the body must have no content coding"}
	}
	body, err := ctx.wholeBody()
	if err != nil {
		return unreadError(err)
	}
	if len(bytes.Trim(body, " \t\r\n")) == 0 {
		return &BindError{Status: StatusBadRequest, Offset: int64(len(body)), text: "the body is empty", err: io.EOF}
	}
	if err := json.Unmarshal(body, v); err != nil {
		return jsonError(err, v)
	}
	return nil
}

// isJSON reports whether contentType is that of JSON in UTF-8 (RFC 8259 section 8.1).
func isJSON(contentType []byte) bool {
	n := tokenLen(contentType)
	if n == 0 || n == len(contentType) || contentType[n] != '/' {
		return false
	}
	kind, rest := contentType[:n], contentType[n+1:]
	n = tokenLen(rest)
	sub, params := rest[:n], bytes.TrimLeft(rest[n:], " \t")
	const suffix = "+json"
	switch {
	case len(params) > 0 && params[0] != ';':
		return false
	case bytesconv.EqualFoldString(kind, "application") && bytesconv.EqualFoldString(sub, "json"):
	case n > len(suffix) && bytesconv.EqualFoldString(sub[n-len(suffix):], suffix):
	default:
		return false
	}
	utf8 := true
	VisitHeaderParams(params, func(key, value []byte) bool {
		if bytesconv.EqualFoldString(key, "charset") {
			utf8 = bytesconv.EqualFoldString(value, "utf-8") || bytesconv.EqualFoldString(value, "us-ascii")
		}
		return utf8
	})
	return utf8
}

// wholeBody returns the body, which belongs to the request. If it is a stream, wholeBody
// reads it up to its limit.
func (ctx *RequestCtx) wholeBody() ([]byte, error) {
	req := &ctx.Request
	if req.hasStream() {
		limit := int64(ctx.server().maxBodySize())
		if r, ok := req.bodyStream.(limitedReader); ok {
			limit = r.WholeLimit()
		}
		if req.Header.s.ContentLength > limit {
			return nil, ErrBodyTooLarge
		}
		req.readAtMost(min(limit, math.MaxInt64-1))
	}
	return req.bodyBytes(), req.heard()
}

// unreadError is the error for a body that could not be read because of err.
func unreadError(err error) error {
	e := &BindError{Status: StatusBadRequest, err: err}
	switch {
	case errors.Is(err, ErrBodyTooLarge):
		e.Status, e.text = StatusRequestEntityTooLarge, "the body is too large"
	case engine.IsTimeout(err):
		e.Status, e.text = StatusRequestTimeout, "the body came too slowly"
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.text = "the body breaks off"
	}
	return e
}

// jsonError is the error for a body that json.Unmarshal refuses for v with err.
func jsonError(err error, v any) error {
	e := &BindError{Status: StatusBadRequest, text: "the body has a value that can't be used", err: err}
	switch err := err.(type) {
	case *json.SyntaxError:
		e.Offset = err.Offset
		e.text = fmt.Sprintf("the body is not valid JSON: %s, at byte %d", err, err.Offset)
	case *json.UnmarshalTypeError:
		e.Offset, e.Field = err.Offset, jsonPath(reflect.TypeOf(v), err.Field)
		what := "the body"
		if e.Field != "" {
			what = strconv.Quote(cut(e.Field))
		}
		e.text = fmt.Sprintf("%s must be %s, not %s, at byte %d", what, wanted(err.Type, err.Value), given(err.Value), err.Offset)
	case *json.InvalidUnmarshalError:
		e.Status, e.text = StatusInternalServerError, "the server can't read the body"
	}
	return e
}

// jsonPath returns path, which json.UnmarshalTypeError has for a value of type t, with
// two changes. It leaves out the names of embedded structs, because they are names of Go
// types and not in the body. It leaves out indices of arrays, because not all Go releases
// have them.
func jsonPath(t reflect.Type, path string) string {
	var kept []string
	for name := range strings.SplitSeq(path, ".") {
		if isIndex(name) {
			continue
		}
		t = innermost(t)
		if t == nil || t.Kind() != reflect.Struct {
			kept, t = append(kept, name), nil
			continue
		}
		f, embedded := structField(t, name)
		if t = f.Type; !embedded {
			kept = append(kept, name)
		}
	}
	return strings.Join(kept, ".")
}

// innermost follows pointers, slices, arrays and maps from type t to the type of their
// elements. A type that contains itself, such as []T for T, has no end: then the result
// is any type on the way.
func innermost(t reflect.Type) reflect.Type {
	const deepest = 100
	for range deepest {
		if t == nil {
			return nil
		}
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
		default:
			return t
		}
	}
	return t
}

// isIndex reports whether name consists of digits.
func isIndex(name string) bool { return name != "" && strings.Trim(name, "0123456789") == "" }

// structField returns the field of t that has this name, or the zero value. embedded
// reports whether the field is an embedded struct whose fields are fields of t in JSON.
func structField(t reflect.Type, name string) (f reflect.StructField, embedded bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag != "" && strings.EqualFold(tag, name), tag == "" && !f.Anonymous && strings.EqualFold(f.Name, name):
			return f, false
		case tag == "" && f.Anonymous && f.Name == name:
			return f, true
		}
	}
	return f, false
}

// cut shortens text that a client may have chosen.
func cut(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// given describes a JSON value; value is how json.UnmarshalTypeError names it.
func given(value string) string {
	switch value {
	case "bool":
		return "true or false"
	case "array", "object":
		return "an " + value
	case "string", "number":
		return "a " + value
	}
	return cut(value) // null, or a number with its digits
}

var textUnmarshaler = reflect.TypeOf((*encoding.TextUnmarshaler)(nil)).Elem()

// isInteger reports whether value, as for given, is a number without a fraction or an
// exponent.
func isInteger(value string) bool {
	digits, ok := strings.CutPrefix(value, "number ")
	return ok && !strings.ContainsAny(digits, ".eE")
}

// wanted describes which JSON values fit type t. value, which doesn't, is as for given: a
// range helps only where an integer is out of it.
func wanted(t reflect.Type, value string) string {
	if t == nil {
		return "another value"
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(textUnmarshaler) {
		return "a string"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if !isInteger(value) {
			return "an integer"
		}
		largest := int64(math.MaxInt64) >> (64 - t.Bits())
		return fmt.Sprintf("an integer from %d to %d", -largest-1, largest)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if !isInteger(value) {
			return "an integer"
		}
		return fmt.Sprintf("an integer from 0 to %d", uint64(math.MaxUint64)>>(64-t.Bits()))
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string in base64"
		}
		return "an array"
	case reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "another value"
}
