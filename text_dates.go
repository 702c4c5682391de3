package gale

import (
	"time"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/clock"
)

// AppendHTTPDate appends date to dst in the form of headers such as Date and
// Last-Modified, "Sun, 06 Nov 1994 08:49:37 GMT", and returns the extended slice
// (IMF-fixdate of RFC 9110 section 5.6.7). date may be in any time zone. Years
// outside of 0 to 9999 are written with as many digits as they have, but recipients
// probably can't read such a date. The result belongs to the caller.
func AppendHTTPDate(dst []byte, date time.Time) []byte {
	date = date.UTC()
	if year := date.Year(); year < 0 || year > 9999 {
		return date.AppendFormat(dst, layoutIMF)
	}
	return clock.AppendDateAt(dst, date)
}

// gmt is the zone of parsed dates, so that printing them with time.RFC1123
// gives a valid date again, which "UTC" would not be.
var gmt = time.FixedZone("GMT", 0)

// Layouts of RFC 9110 section 5.6.7, newest first.
const (
	layoutIMF     = "Mon, 02 Jan 2006 15:04:05 GMT"
	layoutRFC850  = "Monday, 02-Jan-06 15:04:05 GMT"
	layoutANSI    = time.ANSIC
	imfDays       = "SunMonTueWedThuFriSat"
	imfMonths     = "JanFebMarAprMayJunJulAugSepOctNovDec"
	daysPerMonths = "\x1f\x1d\x1f\x1e\x1f\x1e\x1f\x1f\x1e\x1f\x1e\x1f"
)

// ParseHTTPDate returns the time of date, in GMT. It reads the three forms of RFC
// 9110 section 5.6.7: IMF-fixdate, and the obsolete forms of RFC 850 and of
// asctime. It doesn't check whether the day of the week is right. The error is a
// *time.ParseError.
func ParseHTTPDate(date []byte) (time.Time, error) {
	if t, ok := parseIMF(date); ok {
		return t, nil
	}
	s := bytesconv.B2S(date) // errors of time.Parse copy it
	for _, layout := range [...]string{layoutIMF, layoutRFC850} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.In(gmt), nil
		}
	}
	return time.Parse(layoutANSI, s)
}

// parseIMF reads the form that practically every date has, in its exact spelling.
// It refuses some dates that time.Parse accepts.
func parseIMF(b []byte) (t time.Time, ok bool) {
	if len(b) != len(layoutIMF) ||
		b[3] != ',' || b[4] != ' ' || b[7] != ' ' || b[11] != ' ' || b[16] != ' ' ||
		b[19] != ':' || b[22] != ':' || string(b[25:]) != " GMT" {
		return t, false
	}
	month := nameIndex(imfMonths, b[8:11])
	day, hour, minute, second := twoDigits(b[5:]), twoDigits(b[17:]), twoDigits(b[20:]), twoDigits(b[23:])
	century, year := twoDigits(b[12:]), twoDigits(b[14:])
	if month < 0 || nameIndex(imfDays, b[0:3]) < 0 || century < 0 || year < 0 || hour < 0 || minute < 0 || second < 0 ||
		hour > 23 || minute > 59 || second > 59 || day < 1 || day > int(daysPerMonths[month]) {
		return t, false
	}
	t = time.Date(century*100+year, time.Month(month+1), day, hour, minute, second, 0, time.UTC)
	return t.In(gmt), t.Day() == day // the 29th of February may not exist
}

// nameIndex returns which of the three-letter names b is, or -1.
func nameIndex(names string, b []byte) int {
	for i := 0; i < len(names); i += 3 {
		if names[i] == b[0] && names[i+1] == b[1] && names[i+2] == b[2] {
			return i / 3
		}
	}
	return -1
}

// twoDigits returns the value of the two digits that b begins with, or -1.
func twoDigits(b []byte) int {
	hi, lo := b[0]-'0', b[1]-'0'
	if hi > 9 || lo > 9 {
		return -1
	}
	return int(hi)*10 + int(lo)
}
