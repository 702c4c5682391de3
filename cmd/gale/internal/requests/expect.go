package requests

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// searched is how much of a body a regular expression sees, in bytes.
const searched = 1 << 20

// Kinds of responses that aren't as expected.
const (
	KindStatus = "status"
	KindField  = "header"
	KindBody   = "body"
)

// Expectations say which responses are good: those with an expected status, and of which
// all other expectations are true.
type Expectations struct {
	status  [1000]string // what to say about an unexpected status; empty for expected ones
	wanted  string       // the expected statuses, for texts
	fields  []*fieldExpectation
	body    []*bodyExpectation
	collect int
}

// fieldExpectation is about the values of a field: one of them must be equal or match.
type fieldExpectation struct {
	text  string      // as given
	told  atomic.Bool // a text with the value was made
	id    msg.ID
	name  []byte
	equal []byte         // if match is nil
	match *regexp.Regexp // or nil
}

type bodyExpectation struct {
	text  string
	told  atomic.Bool
	equal []byte
	match *regexp.Regexp
}

// ParseExpectations reads expectations of these forms:
//
//	status=200  status=2xx  status=200,301-399
//	body=TEXT  body~REGEX
//	header:Name=TEXT  header:Name~REGEX
//
// If none is about the status, 2xx and 3xx are expected.
func ParseExpectations(list []string) (*Expectations, error) {
	e := &Expectations{}
	var wanted []string
	for _, text := range list {
		if value, ok := strings.CutPrefix(text, "status="); ok {
			wanted = append(wanted, value)
			continue
		}
		if err := e.add(text); err != nil {
			return nil, fmt.Errorf("--expect %q: %w", text, err)
		}
	}
	if wanted == nil {
		wanted = []string{"2xx,3xx"}
	}
	e.wanted = strings.Join(wanted, ",")
	for status := range e.status {
		e.status[status] = fmt.Sprintf("status %d instead of %s", status, e.wanted)
	}
	for part := range strings.SplitSeq(e.wanted, ",") {
		if err := e.addStatus(strings.TrimSpace(part)); err != nil {
			return nil, fmt.Errorf("--expect %q: %w", "status="+e.wanted, err)
		}
	}
	return e, nil
}

// addStatus adds the statuses of "200", "2xx" or "200-299".
func (e *Expectations) addStatus(text string) error {
	first, last, isRange := strings.Cut(text, "-")
	if class, ok := strings.CutSuffix(strings.ToLower(text), "xx"); ok {
		first, last = class+"00", class+"99"
	} else if !isRange {
		last = first
	}
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || from < 100 || to > 999 || from > to {
		return fmt.Errorf("write statuses as in 200, 2xx or 200-204, separated by commas, not %q", text)
	}
	for status := from; status <= to; status++ {
		e.status[status] = ""
	}
	return nil
}

func (e *Expectations) add(text string) error {
	at := strings.IndexAny(text, "=~")
	if at < 0 {
		return errForm
	}
	name, value := text[:at], text[at+1:]
	var match *regexp.Regexp
	if text[at] == '~' {
		var err error
		if match, err = regexp.Compile(value); err != nil {
			return fmt.Errorf("mend the regular expression: %w", err)
		}
	}
	if name == "body" {
		e.body = append(e.body, &bodyExpectation{text: text, equal: []byte(value), match: match})
		e.collect = max(e.collect, len(value), 1)
		if match != nil {
			e.collect = max(e.collect, searched)
		}
		return nil
	}
	field, ok := strings.CutPrefix(name, "header:")
	if !ok || !bytesconv.IsToken([]byte(field)) {
		return errForm
	}
	e.fields = append(e.fields, &fieldExpectation{text: text, id: msg.Lookup([]byte(field)), name: []byte(field), equal: []byte(value), match: match})
	return nil
}

var errForm = errors.New("write status=200, body=TEXT, body~REGEX, header:Name=TEXT or header:Name~REGEX")

// Collect returns how many bytes of bodies Check needs at most.
func (e *Expectations) Collect() int { return e.collect }

// Check returns "" if a response is as expected, else the kind of what isn't, and a text
// about it; see load.Target.Expect. The first text about an expectation has the value.
func (e *Expectations) Check(h *head.Response, body []byte, length int64) (kind, text string) {
	status := h.Status
	if status == 0 {
		status = 200
	}
	if why := e.status[min(status, len(e.status)-1)]; why != "" {
		return KindStatus, why
	}
	for _, f := range e.fields {
		switch {
		case f.holds(h):
		case f.told.Swap(true):
			return KindField, f.text
		default:
			return KindField, fmt.Sprintf("%s, but it is %q", f.text, h.PeekID(f.id, f.name))
		}
	}
	for _, b := range e.body {
		switch {
		case b.holds(body, length):
		case b.told.Swap(true):
			return KindBody, b.text
		default:
			return KindBody, fmt.Sprintf("%s, but it has %d bytes and begins with %q", b.text, length, body[:min(len(body), 60)])
		}
	}
	return "", ""
}

func (f *fieldExpectation) holds(h *head.Response) bool {
	for i := h.FindID(f.id, f.name); i >= 0; i = h.Next(i) {
		value := h.Value(i)
		if f.match != nil && f.match.Match(value) || f.match == nil && bytes.Equal(value, f.equal) {
			return true
		}
	}
	return false
}

func (b *bodyExpectation) holds(body []byte, length int64) bool {
	if b.match != nil {
		return b.match.Match(body)
	}
	return length == int64(len(b.equal)) && bytes.Equal(body, b.equal)
}
