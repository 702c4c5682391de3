package head

import (
	"testing"

	"github.com/galehttp/gale/internal/pool/pooltest"
	"github.com/galehttp/gale/internal/race"
)

// TestPooledForgets: what is used again is like new, field by field, except settings.
func TestPooledForgets(t *testing.T) {
	if race.Enabled {
		t.Skip("with the race detector heads refuse to be reset with records that can't be, as this test makes them")
	}
	const setting = "a setting, which Reset keeps"
	c := &pooltest.Check{
		Owned: []any{section{}},
		Memory: []string{
			"head.Trailers.s", "head.NameList.names", "head.NameList.text",
			"kv.List.arena", "kv.List.pairs", "msg.Fields.Buf", "msg.Fields.Recs",
		},
		Cleared: []string{"head.NameList.slots"},
		Stubs:   []any{"source"},
		Keep: map[string]string{
			"msg.Fields.first":                    "counts only where seen says so",
			"msg.Fields.last":                     "what PutAgain compares with: lines that are compared and never shown",
			"head.RequestSettings.Spelling":       setting,
			"head.RequestSettings.NoSpecial":      setting,
			"head.RequestSettings.NoDefaultType":  setting,
			"head.RequestSettings.NoDefaultAgent": setting,
			"head.Response.Spelling":              setting,
			"head.Response.Implied":               "settings, beside the bits of slots: TestResetEmptiesSlots",
			"head.Response.server":                "a slot: compared, and shown only where Implied says so",
			"head.Response.contentType":           "a slot: compared, and shown only where Implied says so",
			"head.Response.slotChanges":           "counts what the slots were given, for openings that are kept as well",
		},
		Guarded: map[string]string{
			"head.NameList.text":   "names are added with it",
			"head.NameList.slots":  "names are added with it",
			"head.Request.Cookies": "CookieState isn't CookiesUnread where there are any",
			"msg.Fields.puts":      "counts records in Recs",
			"msg.Fields.seen":      "has bits of records in Recs only",
			"msg.Fields.maybe":     "has bits of records in Recs, or too many, which cost a comparison",
			"msg.Fields.dead":      "counts records",
			"msg.Fields.waste":     "counts bytes of Buf",
			"msg.Fields.Parts":     "lie in Buf",
		},
	}
	pooltest.Run(t, c, pooltest.Object[Request]{
		New:    func() *Request { r := new(Request); r.Reset(); return r },
		Forget: (*Request).Reset,
	})
	pooltest.Run(t, c, pooltest.Object[Response]{
		New:    func() *Response { r := new(Response); r.Reset(); return r },
		Forget: (*Response).Reset,
	})
	c.Unused(t)
}

// Reset empties the slots, and keeps the other bits of Implied.
func TestResetEmptiesSlots(t *testing.T) {
	var r Response
	r.Implied = ServerSlot | TypeSlot | NoDefaultType | NoDate
	if r.Reset(); r.Implied != NoDefaultType|NoDate {
		t.Errorf("after Reset, Implied is %b", r.Implied)
	}
}
