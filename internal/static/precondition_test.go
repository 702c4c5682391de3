package static

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

var stamp = time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)

func lines(s ...string) (bs [][]byte) {
	for _, l := range s {
		bs = append(bs, []byte(l))
	}
	return bs
}

func TestEvaluate(t *testing.T) {
	const (
		same   = "Fri, 02 Jan 2026 03:04:05 GMT"
		before = "Fri, 02 Jan 2026 03:04:04 GMT"
		after  = "Sun, 01 Nov 2026 00:00:00 GMT"
	)
	strong := Validators{ETag: []byte(`"a,b"`), ModTime: stamp}
	weak := Validators{ETag: []byte(`W/"a,b"`), ModTime: stamp}
	dateless := Validators{ETag: []byte(`"a,b"`)}
	tagless := Validators{ModTime: stamp}
	for _, tt := range []struct {
		why       string
		v         Validators
		c         Conditions
		get, post Outcome
	}{
		{"none", strong, Conditions{}, Proceed, Proceed},
		{"If-Match star", strong, Conditions{IfMatch: lines("*")}, Proceed, Proceed},
		{"If-Match same", strong, Conditions{IfMatch: lines(`"x", "a,b"`)}, Proceed, Proceed},
		{"If-Match second line", strong, Conditions{IfMatch: lines(`"x"`, `"a,b"`)}, Proceed, Proceed},
		{"If-Match other", strong, Conditions{IfMatch: lines(`"x"`)}, Failed, Failed},
		{"If-Match weak of strong", strong, Conditions{IfMatch: lines(`W/"a,b"`)}, Failed, Failed},
		{"If-Match never matches weak tags", weak, Conditions{IfMatch: lines(`W/"a,b"`)}, Failed, Failed},
		{"If-Match without tag", tagless, Conditions{IfMatch: lines(`"a"`)}, Failed, Failed},
		{"If-Unmodified-Since same", strong, Conditions{IfUnmodifiedSince: []byte(same)}, Proceed, Proceed},
		{"If-Unmodified-Since before", strong, Conditions{IfUnmodifiedSince: []byte(before)}, Failed, Failed},
		{"If-Unmodified-Since invalid", strong, Conditions{IfUnmodifiedSince: []byte("yesterday")}, Proceed, Proceed},
		{"If-Unmodified-Since without date", dateless, Conditions{IfUnmodifiedSince: []byte(before)}, Proceed, Proceed},
		{"If-Match hides If-Unmodified-Since", strong, Conditions{IfMatch: lines("*"), IfUnmodifiedSince: []byte(before)}, Proceed, Proceed},
		{"If-None-Match star", strong, Conditions{IfNoneMatch: lines("*")}, NotModified, Failed},
		{"If-None-Match star without tag", tagless, Conditions{IfNoneMatch: lines("*")}, NotModified, Failed},
		{"If-None-Match same", strong, Conditions{IfNoneMatch: lines(`"x","a,b"`)}, NotModified, Failed},
		{"If-None-Match weak", strong, Conditions{IfNoneMatch: lines(`W/"a,b"`)}, NotModified, Failed},
		{"If-None-Match other", strong, Conditions{IfNoneMatch: lines(`"x"`)}, Proceed, Proceed},
		{"If-None-Match part of a tag", strong, Conditions{IfNoneMatch: lines(`"a`)}, Proceed, Proceed},
		{"If-None-Match with empty elements", strong, Conditions{IfNoneMatch: lines(` , "a,b" ,, "x", `)}, NotModified, Failed},
		{"If-None-Match star among empty elements", strong, Conditions{IfNoneMatch: lines(", *,")}, NotModified, Failed},
		{"If-None-Match star and tag", strong, Conditions{IfNoneMatch: lines(`*, "a,b"`)}, Proceed, Proceed},
		{"If-None-Match star twice", strong, Conditions{IfNoneMatch: lines("*", "*")}, Proceed, Proceed},
		{"If-None-Match star with more", strong, Conditions{IfNoneMatch: lines("*x")}, Proceed, Proceed},
		{"If-None-Match with a space in a tag", strong, Conditions{IfNoneMatch: lines(`"a,b", "x y"`)}, Proceed, Proceed},
		{"If-None-Match with a control in a tag", strong, Conditions{IfNoneMatch: lines("\"x\x01\", \"a,b\"")}, Proceed, Proceed},
		{"If-None-Match without a comma", strong, Conditions{IfNoneMatch: lines(`"a,b" "x"`)}, Proceed, Proceed},
		{"If-None-Match without quotes", strong, Conditions{IfNoneMatch: lines(`a, "a,b"`)}, Proceed, Proceed},
		{"If-None-Match with one bad line", strong, Conditions{IfNoneMatch: lines(`"a,b"`, `bad`)}, Proceed, Proceed},
		{"If-Match with one bad line", strong, Conditions{IfMatch: lines(`"a,b"`, `bad`)}, Failed, Failed},
		{"If-None-Match hides If-Modified-Since", strong, Conditions{IfNoneMatch: lines(`"x"`), IfModifiedSince: []byte(after)}, Proceed, Proceed},
		{"If-Modified-Since same", strong, Conditions{IfModifiedSince: []byte(same)}, NotModified, Proceed},
		{"If-Modified-Since after", strong, Conditions{IfModifiedSince: []byte(after)}, NotModified, Proceed},
		{"If-Modified-Since before", strong, Conditions{IfModifiedSince: []byte(before)}, Proceed, Proceed},
		{"If-Modified-Since invalid", strong, Conditions{IfModifiedSince: []byte("tomorrow")}, Proceed, Proceed},
		{"If-Modified-Since without date", dateless, Conditions{IfModifiedSince: []byte(after)}, Proceed, Proceed},
		{"If-Match fails first", strong, Conditions{IfMatch: lines(`"x"`), IfNoneMatch: lines("*")}, Failed, Failed},
		{"If-Match holds, If-None-Match matches", strong, Conditions{IfMatch: lines("*"), IfNoneMatch: lines("*")}, NotModified, Failed},
	} {
		tt.c.ReadOnly = true
		if got := tt.c.Evaluate(tt.v); got != tt.get {
			t.Errorf("%s: GET: got %d, want %d", tt.why, got, tt.get)
		}
		tt.c.ReadOnly = false
		if got := tt.c.Evaluate(tt.v); got != tt.post {
			t.Errorf("%s: POST: got %d, want %d", tt.why, got, tt.post)
		}
	}
}

func TestRangeHolds(t *testing.T) {
	v := Validators{ETag: []byte(`"t"`), ModTime: stamp}
	later := stamp.Add(time.Hour)
	for _, tt := range []struct {
		field string
		v     Validators
		now   time.Time
		want  bool
	}{
		{"", v, later, true},
		{`"t"`, v, later, true},
		{`"u"`, v, later, false},
		{`"t", "u"`, v, later, false},
		{`W/"t"`, v, later, false},
		{`W/"t"`, Validators{ETag: []byte(`W/"t"`)}, later, false},
		{"Fri, 02 Jan 2026 03:04:05 GMT", v, later, true},
		{"Fri, 02 Jan 2026 03:04:06 GMT", v, later, false},
		{"Fri, 02 Jan 2026 03:04:04 GMT", v, later, false},
		{"Fri, 02 Jan 2026 03:04:05 GMT", v, stamp, false},
		{"Fri, 02 Jan 2026 03:04:05 GMT", Validators{}, later, false},
		{"nonsense", v, later, false},
	} {
		if got := RangeHolds([]byte(tt.field), tt.v, tt.now); got != tt.want {
			t.Errorf("If-Range: %q: got %v, want %v", tt.field, got, tt.want)
		}
	}
}

func TestAppendWeakETag(t *testing.T) {
	for coding, want := range map[string]string{"": `W/"6553f100-960"`, "br": `W/"6553f100-960-br"`} {
		if got := string(AppendWeakETag(nil, time.Unix(1700000000, 5), 0x960, coding)); got != want {
			t.Errorf("%q: %s, want %s", coding, got, want)
		}
	}
}

func TestAppendETag(t *testing.T) {
	a := string(AppendETag(nil, stamp, 26, "", false))
	for _, other := range [][]byte{
		AppendETag(nil, stamp.Add(1), 26, "", false),
		AppendETag(nil, stamp, 27, "", false),
		AppendETag(nil, stamp, 26, "gzip", false),
		AppendETag(nil, stamp, 26, "", true),
	} {
		if string(other) == a {
			t.Errorf("two tags are both %s", a)
		}
		if tag, rest, ok := cutTag(other); !ok || len(rest) > 0 || string(tag) != string(other) {
			t.Errorf("%s is no entity tag", other)
		}
	}
	if !strings.HasPrefix(a, `"`) {
		t.Errorf("%s is not strong", a)
	}
}

func TestParseDate(t *testing.T) {
	want := time.Date(1994, 11, 6, 8, 49, 37, 0, time.UTC)
	for _, s := range []string{"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"} {
		if got, ok := ParseDate([]byte(s)); !ok || !got.Equal(want) {
			t.Errorf("%q: got %v, %v", s, got, ok)
		}
	}
	for s, want := range map[string]time.Time{
		"Sat, 31 Dec 2016 23:59:60 GMT":  time.Date(2016, 12, 31, 23, 59, 59, 0, time.UTC), // a leap second is cut
		"Thu, 29 Feb 2024 00:00:00 GMT":  time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		"Monday, 31-Dec-68 00:00:00 GMT": time.Date(2068, 12, 31, 0, 0, 0, 0, time.UTC),
		"Friday, 31-Dec-99 00:00:00 GMT": time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC),
	} {
		if got, ok := ParseDate([]byte(s)); !ok || !got.Equal(want) {
			t.Errorf("%q: got %v, %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "tomorrow", "Wed, 29 Feb 2023 00:00:00 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
		"Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 0x Nov 1994 08:49:37 GMT", strings.Repeat("Sun, 06 Nov 1994 08:49:37 GMT", 3), "Sun, 31 Feb 2026 00:00:00 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
		"Sunday, 06-Nov-94 08:49:37 CET", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT "} {
		if got, ok := ParseDate([]byte(s)); ok {
			t.Errorf("%q: got %v", s, got)
		}
	}
}

func FuzzParseDate(f *testing.F) {
	f.Add("Sun, 06 Nov 1994 08:49:37 GMT")
	f.Add("Sunday, 06-Nov-94 08:49:37 GMT")
	f.Add("Sun Nov  6 08:49:37 1994")
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := parseFixdate([]byte(s))
		if !ok {
			return
		}
		// What we take, net/http reads as the same moment, except for the name of the day
		// and a leap second.
		want, err := http.ParseTime(got.Format(http.TimeFormat))
		if err != nil || !want.Equal(got) {
			t.Fatalf("%q: got %v, net/http %v, %v", s, got, want, err)
		}
	})
}

func FuzzEvaluate(f *testing.F) {
	f.Add([]byte(`"a", W/"b"`), []byte("*"), []byte("Sun, 06 Nov 1994 08:49:37 GMT"))
	f.Fuzz(func(t *testing.T, match, none, since []byte) {
		v := Validators{ETag: []byte(`"a"`), ModTime: stamp}
		c := Conditions{IfMatch: [][]byte{match}, IfNoneMatch: [][]byte{none}, IfModifiedSince: since, IfUnmodifiedSince: since}
		if got := c.Evaluate(v); got == NotModified {
			t.Fatal("304 for a method that is neither GET nor HEAD")
		}
		c.ReadOnly = true
		c.Evaluate(v)
		RangeHolds(match, v, stamp)
	})
}
