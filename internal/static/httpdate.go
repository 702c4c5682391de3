package static

import "time"

// ParseDate reads an HTTP-date in any of the three forms of RFC 9110 section 5.6.7.
// The preferred form is read without allocating. Two-digit years are read as by
// time.Parse: 69 to 99 are in the last century.
func ParseDate(b []byte) (t time.Time, ok bool) {
	if t, ok = parseFixdate(b); ok {
		return t, true
	}
	if len(b) > 64 {
		return time.Time{}, false
	}
	s := string(b)
	for _, layout := range [...]string{time.RFC850, time.ANSIC} {
		// GMT is the only time zone in HTTP. time.Parse would accept any
		// abbreviation as a zone with an offset of 0.
		if layout == time.RFC850 && (len(s) < 4 || s[len(s)-4:] != " GMT") {
			continue
		}
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

// parseFixdate reads "Sun, 06 Nov 1994 08:49:37 GMT". The name of the day is
// not checked against the date.
func parseFixdate(b []byte) (time.Time, bool) {
	if len(b) != 29 || b[3] != ',' || b[4] != ' ' || b[7] != ' ' || b[11] != ' ' || b[16] != ' ' ||
		b[19] != ':' || b[22] != ':' || string(b[25:]) != " GMT" {
		return time.Time{}, false
	}
	month := 0
	for i := 0; i < len(months); i += 3 {
		if months[i:i+3] == string(b[8:11]) {
			month = i/3 + 1
			break
		}
	}
	day, ok1 := digits(b[5:7])
	year, ok2 := digits(b[12:16])
	hour, ok3 := digits(b[17:19])
	minute, ok4 := digits(b[20:22])
	second, ok5 := digits(b[23:25])
	if !(ok1 && ok2 && ok3 && ok4 && ok5) || month == 0 || day == 0 || hour > 23 || minute > 59 || second > 60 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, min(second, 59), 0, time.UTC)
	return t, t.Day() == day
}

func digits(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
