package requests

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// refusedFields are the fields that the generator sets or that would change how a message
// ends, with what to do instead.
var refusedFields = map[string]string{
	"connection":        "use --no-keepalive to close connections",
	"content-length":    "the body's length determines it",
	"expect":            "waiting for 100 (Continue) can't be measured",
	"keep-alive":        "use --requests-per-conn to limit the requests of a connection",
	"proxy-connection":  "use --no-keepalive to close connections",
	"te":                "trailers aren't read",
	"trailer":           "requests have no trailers",
	"transfer-encoding": "the body's length determines where it ends",
	"upgrade":           "use --http2 for HTTP/2",
}

// once are the fields that a request has once at most.
const once uint64 = 1<<msg.Host | 1<<msg.UserAgent | 1<<msg.ContentType

// field is a header field of the requests.
type field struct {
	id    msg.ID
	name  string
	value string
}

// setFields sets the header fields.
func (src *Source) setFields(s *Spec, contentType string) error {
	fields, err := s.fields(contentType)
	if err != nil {
		return err
	}
	h := &src.base
	for _, f := range fields {
		t, err := parse(f.value, "the field "+f.name, inField, src.data)
		if err != nil {
			return err
		}
		var value []byte
		if t.fixed() {
			value = t.append(nil, nil)
		} else {
			src.fields = append(src.fields, fieldTemplate{len(h.Recs), t})
		}
		if !h.PutMore(f.id, []byte(f.name), value, msg.AsGiven) {
			return fmt.Errorf("-H %s: leave some fields out: there are too many", f.name)
		}
	}
	return nil
}

// fields returns the fields to send: those that were asked for, after those that are sent
// unless they are among them. A field without a value is left out.
func (s *Spec) fields(contentType string) ([]field, error) {
	given := []field{
		{msg.UserAgent, "User-Agent", s.UserAgent},
		{msg.Host, "Host", s.Host},
		{msg.ContentType, "Content-Type", contentType},
		{msg.Accept, "Accept", "*/*"},
	}
	defaults := len(given)
	for _, text := range s.Fields {
		f, err := parseField(text)
		if err != nil {
			return nil, err
		}
		for i := range given {
			switch old := &given[i]; {
			case !strings.EqualFold(old.name, f.name):
			case i < defaults:
				old.value = ""
			case f.id == msg.Cookie:
				return nil, errors.New("give the field Cookie once, or use --cookie")
			case once&(1<<f.id) != 0:
				return nil, fmt.Errorf("give the field %s once", f.name)
			}
		}
		given = append(given, f)
	}
	given, err := s.addCookies(given)
	return slices.DeleteFunc(given, func(f field) bool { return f.value == "" }), err
}

// addCookies adds the cookies to the field that has some, or as a field.
func (s *Spec) addCookies(fields []field) ([]field, error) {
	for _, c := range s.Cookies {
		name, value, ok := strings.Cut(c, "=")
		switch {
		case !ok || !bytesconv.IsToken([]byte(name)):
			return nil, fmt.Errorf("--cookie %q: write name=value", c)
		case strings.Contains(value, ";") || !isFieldValue(value):
			return nil, fmt.Errorf("--cookie %q: a value can't have ; or control characters; give --cookie once for each cookie", c)
		}
	}
	if len(s.Cookies) == 0 {
		return fields, nil
	}
	all := strings.Join(s.Cookies, "; ")
	for i := range fields {
		if f := &fields[i]; f.id == msg.Cookie && f.value != "" {
			f.value += "; " + all
			return fields, nil
		}
	}
	return append(fields, field{msg.Cookie, "Cookie", all}), nil
}

// parseField reads "Name: value".
func parseField(text string) (field, error) {
	name, value, ok := strings.Cut(text, ":")
	f := field{msg.Lookup([]byte(name)), name, strings.Trim(value, " \t")}
	switch {
	case !ok:
		return f, fmt.Errorf("-H %q: write a name and a value, as in 'Name: value'", text)
	case !bytesconv.IsToken([]byte(name)):
		return f, fmt.Errorf("-H %q: a name has letters, digits and - only, and no space before the colon", text)
	case !isFieldValue(f.value):
		return f, fmt.Errorf("-H %q: a value can't have line breaks or other control characters", text)
	case f.id == msg.Host && f.value == "":
		return f, errors.New("-H Host: give it a value, or leave it out to send the host of the URL")
	}
	if why := refusedFields[strings.ToLower(name)]; why != "" {
		return f, fmt.Errorf("-H %s: leave it out: %s", name, why)
	}
	return f, nil
}
