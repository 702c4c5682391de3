package static

import (
	"time"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Conditions are the values of a request's conditional fields, empty where a field
// is missing. If a field came in several lines, each line is an entry. The slices
// belong to the caller; Evaluate doesn't keep them.
type Conditions struct {
	IfMatch, IfNoneMatch               [][]byte
	IfModifiedSince, IfUnmodifiedSince []byte
	// ReadOnly is true for GET and HEAD.
	ReadOnly bool
}

// Validators describe the representation that a request would get.
type Validators struct {
	// ETag is its entity tag with quotes, or empty if it has none.
	ETag []byte
	// ModTime is when it last changed, or zero if that isn't known. Fractions of a
	// second are ignored, because HTTP dates have none.
	ModTime time.Time
	// Changed is when anything of the file last changed, or zero. Other than ModTime it can't
	// be set back. If it isn't zero, dates of clients other than ModTime count only if they
	// rule out that the file has changed since.
	Changed time.Time
	// Young says that clients don't get ModTime yet, because the file may change again
	// within the same second.
	Young bool
}

// Outcome is the result of the conditions of a request.
type Outcome uint8

const (
	// Proceed means that the request is answered as if it had no conditions.
	Proceed Outcome = iota
	// NotModified means 304 (RFC 9110 section 15.4.5).
	NotModified
	// Failed means 412 (RFC 9110 section 15.5.13).
	Failed
)

// Evaluate evaluates the conditions for a representation that exists, in the order
// of RFC 9110 section 13.2.2: If-Match before If-Unmodified-Since, then
// If-None-Match before If-Modified-Since. Dates that can't be read are ignored
// (sections 13.1.3 and 13.1.4). If-Range isn't evaluated here: see RangeHolds.
func (c *Conditions) Evaluate(v Validators) Outcome {
	if len(c.IfMatch) > 0 {
		if !listed(c.IfMatch, v.ETag, equalStrong) {
			return Failed
		}
	} else if since, ok := date(c.IfUnmodifiedSince, v); ok && changedAfter(v, since) {
		return Failed
	}
	if len(c.IfNoneMatch) > 0 {
		if !listed(c.IfNoneMatch, v.ETag, equalWeak) {
			return Proceed
		}
		if c.ReadOnly {
			return NotModified
		}
		return Failed
	}
	if !c.ReadOnly {
		return Proceed
	}
	if since, ok := date(c.IfModifiedSince, v); ok && !changedAfter(v, since) && v.dates(since) {
		return NotModified
	}
	return Proceed
}

// RangeHolds reports whether a Range field may be answered, given the If-Range
// field, which is empty if there was none (RFC 9110 section 13.1.5). A tag must
// match strongly. A date must equal the modification time, which is a strong
// validator only if it is a second or more before now (section 8.8.2.2).
func RangeHolds(ifRange []byte, v Validators, now time.Time) bool {
	ifRange = bytesconv.TrimOWS(ifRange)
	if len(ifRange) == 0 {
		return true
	}
	if tag, rest, ok := cutTag(ifRange); ok {
		return len(rest) == 0 && equalStrong(tag, v.ETag)
	}
	since, ok := date(ifRange, v)
	return ok && since.Unix() == v.ModTime.Unix() && now.Unix() > v.ModTime.Unix() && v.dates(since)
}

// dates reports whether a client that got this date with the file, or got the file at the date
// since, has the file as it is. The date that is sent as Last-Modified is a validator, also if
// the file got it later than its content, as copies do (RFC 9110 sections 13.1.3 and 13.1.5). With
// another date, the file must not have changed within that second or later, and the date must
// not be in the future.
func (v *Validators) dates(since time.Time) bool {
	switch {
	case v.Changed.IsZero(), since.Unix() == v.ModTime.Unix() && !v.Young:
		return true
	}
	return v.Changed.Unix() < since.Unix() && since.Unix() <= time.Now().Unix()
}

// date parses value if the representation has a date to compare it with.
func date(value []byte, v Validators) (time.Time, bool) {
	if len(value) == 0 || v.ModTime.IsZero() {
		return time.Time{}, false
	}
	return ParseDate(bytesconv.TrimOWS(value))
}

func changedAfter(v Validators, since time.Time) bool {
	return v.ModTime.Unix() > since.Unix()
}
