package requests

import (
	"errors"
	"fmt"
	"strings"

	"github.com/galehttp/gale/cmd/gale/internal/load"
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// Spec says how the requests for a URL look.
type Spec struct {
	Method    string   // a token (RFC 9110 section 9.1)
	Host      string   // the value of Host, unless Fields has one
	Target    string   // path and query; with values
	UserAgent string   // unless Fields has one
	Fields    []string // as in "Name: value"; values may have columns
	Cookies   []string // as in "name=value"; may have columns
	Body      Body
	Data      *Data // nil: there are no columns
}

// Source makes the requests of a Spec; see load.Source.
type Source struct {
	base   head.Request // of all requests; fields have no value in it yet
	target template
	fields []fieldTemplate
	body   template
	whole  []byte // the body, if it is the same for all requests
	data   *Data
	fixed  *load.Request
}

// fieldTemplate is the value of the field with this index in the base.
type fieldTemplate struct {
	index int
	value template
}

// New returns the source for s. Its errors say what is wrong and what to do.
func New(s *Spec) (*Source, error) {
	src := &Source{data: s.Data}
	src.base.Reset()
	if err := src.setLine(s); err != nil {
		return nil, err
	}
	contentType, err := src.setBody(s)
	if err != nil {
		return nil, err
	}
	if err := src.setFields(s, contentType); err != nil {
		return nil, err
	}
	if src.target.fixed() && len(src.fields) == 0 && src.body.fixed() {
		src.fixed = &load.Request{Body: src.whole}
		src.base.CopyTo(&src.fixed.Head)
	}
	return src, nil
}

// setLine sets the request line.
func (src *Source) setLine(s *Spec) error {
	switch {
	case !bytesconv.IsToken([]byte(s.Method)):
		return fmt.Errorf("%q isn't a method: write one word, such as POST", s.Method)
	case s.Method == "CONNECT":
		return errors.New("CONNECT makes tunnels, which can't be measured: use another method")
	case s.Method == "TRACE" && s.Body.Given():
		return errors.New("TRACE has no body: leave the body out, or use another method")
	}
	h := &src.base
	h.SetPart(msg.Method, []byte(s.Method))
	h.MethodID = msg.LookupMethod([]byte(s.Method))
	t, err := parseTarget(s.Target, s.Data)
	if err != nil {
		return err
	}
	src.target = t
	if t.fixed() {
		h.SetPart(msg.Target, t.append(nil, nil))
	}
	return nil
}

// setBody sets the body and its length. It returns the Content-Type, empty if the body
// doesn't determine it.
func (src *Source) setBody(s *Spec) (contentType string, err error) {
	src.body, contentType, err = s.Body.parse(s.Data)
	if err != nil {
		return "", err
	}
	if src.body.fixed() {
		src.whole = src.body.append(nil, nil)
	}
	h := &src.base
	h.ContentLength = int64(len(src.whole))
	switch s.Method {
	case "POST", "PUT", "PATCH": // they say so if there is no body (RFC 9110 section 8.6)
		h.LengthSet = true
	default:
		h.LengthSet = s.Body.Given()
	}
	return contentType, nil
}

// parseTarget returns the template of the path and query of a URL. A fragment isn't sent.
func parseTarget(target string, data *Data) (template, error) {
	target, _, _ = strings.Cut(target, "#")
	if !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "{{") {
		target = "/" + target
	}
	t, err := parse(target, "the URL", inPath, data)
	if err != nil {
		return nil, err
	}
	for i := range t {
		if p := &t[i]; p.column < 0 {
			p.literal = string(bytesconv.AppendEscaped(nil, []byte(p.literal), &urlBytes))
		}
	}
	first := t[0]
	if first.column < 0 {
		return t, nil
	}
	if first.escape != nil {
		return append(literal("/"), t...), nil
	}
	begins := func(value string) bool { return strings.HasPrefix(value, "/") }
	return t, data.check(first.column, begins, "it is the path of the URL, so begin it with /")
}

// urlBytes are the bytes of a URL that are sent as they are.
var urlBytes = func() (set [256]bool) {
	for c := '!'; c < 0x7f; c++ {
		set[c] = !strings.ContainsRune("\"<>\\^`{|}", c)
	}
	return set
}()

// Fixed returns the request if all are the same, else nil.
func (src *Source) Fixed() *load.Request { return src.fixed }

// Fill sets r to the request with number n. It doesn't allocate if r was filled before with
// a request that was at least as long.
func (src *Source) Fill(r *load.Request, n int64) {
	src.base.CopyTo(&r.Head)
	r.Body = src.whole
	if src.fixed != nil {
		return
	}
	row := src.data.row(n)
	buf := r.Buffer
	if !src.target.fixed() {
		buf = src.target.append(buf[:0], row)
		r.Head.SetPart(msg.Target, buf)
	}
	for i := range src.fields {
		f := &src.fields[i]
		buf = f.value.append(buf[:0], row)
		r.Head.SetAt(f.index, buf)
	}
	if !src.body.fixed() {
		buf = src.body.append(buf[:0], row)
		r.Body = buf
		r.Head.ContentLength = int64(len(buf))
	}
	r.Buffer = buf
}
