package clock

import "time"

const (
	days   = "SunMonTueWedThuFriSat"
	months = "JanFebMarAprMayJunJulAugSepOctNovDec"
)

// appendDate appends t in GMT:
//
//	IMF-fixdate = day-name "," SP day SP month SP year SP hour ":" minute ":" second SP "GMT"
//
// Years outside of 0 to 9999 can't be written in this form; only their last four
// digits are written.
func appendDate(dst []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	year = (year%10000 + 10000) % 10000
	wd, m := 3*int(t.Weekday()), 3*int(month-1)
	return append(dst,
		days[wd], days[wd+1], days[wd+2], ',', ' ',
		tens(day), ones(day), ' ',
		months[m], months[m+1], months[m+2], ' ',
		tens(year/100), ones(year/100), tens(year%100), ones(year%100), ' ',
		tens(hour), ones(hour), ':',
		tens(minute), ones(minute), ':',
		tens(second), ones(second), ' ', 'G', 'M', 'T')
}

func tens(n int) byte { return byte('0' + n/10) }
func ones(n int) byte { return byte('0' + n%10) }
