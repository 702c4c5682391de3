package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
)

// fieldsFlag holds the header fields of -header, for all answers.
type fieldsFlag []field

type field struct {
	name, value string
	add         bool // to the fields of that name that the answer has
}

func (f *fieldsFlag) String() string { return "" }

func (f *fieldsFlag) Set(s string) error {
	name, value, ok := strings.Cut(s, ":")
	value = strings.Trim(value, " \t")
	switch {
	case !ok || value == "":
		return errors.New("write a name and a value, as in 'Name: value'")
	case !bytesconv.IsToken([]byte(name)):
		return errors.New("a name has letters, digits and - only, and no space before the colon")
	case strings.ContainsFunc(value, isControl):
		return errors.New("a value can't have line breaks or other control characters")
	}
	if why := refusedFields[strings.ToLower(name)]; why != "" {
		return fmt.Errorf("%s can't be set: %s", name, why)
	}
	// Our own field of that name is replaced, others of this flag are kept. The fields
	// named in Vary add up: without ours, caches would mix compressed and plain files.
	add := strings.EqualFold(name, gale.HeaderVary)
	for _, other := range *f {
		add = add || strings.EqualFold(other.name, name)
	}
	*f = append(*f, field{name, value, add})
	return nil
}

// Why fields are refused.
const (
	ofConnection = "it is about the connection, not the answer"
	ofFraming    = "it says where a message ends"
	ofAnswer     = "its value is different for each answer"
)

var refusedFields = map[string]string{
	"connection":        ofConnection,
	"keep-alive":        ofConnection,
	"proxy-connection":  ofConnection,
	"te":                ofConnection,
	"upgrade":           ofConnection,
	"content-length":    ofFraming,
	"trailer":           ofFraming,
	"transfer-encoding": ofFraming,
	"accept-ranges":     ofAnswer,
	"allow":             ofAnswer,
	"content-encoding":  ofAnswer,
	"content-range":     ofAnswer,
	"content-type":      ofAnswer,
	"date":              ofAnswer,
	"etag":              ofAnswer,
	"last-modified":     ofAnswer,
	"location":          ofAnswer,
	"www-authenticate":  ofAnswer,
}

// isControl reports whether r can't be in a field value (RFC 9110 section 5.5).
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// withFields adds the header fields that all answers have: nosniff, which makes browsers
// believe the Content-Type, and those of -header.
func withFields(h gale.RequestHandler, fields fieldsFlag) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		h(ctx)
		header := &ctx.Response.Header
		header.Set(gale.HeaderXContentTypeOptions, "nosniff")
		for _, f := range fields {
			if f.add {
				header.Add(f.name, f.value)
			} else {
				header.Set(f.name, f.value)
			}
		}
	}
}
