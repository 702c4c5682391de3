package h1

import (
	"testing"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// openingCases are responses, and senders, that differ from each other in one thing.
func openingCases() map[string]func(r *head.Response, by *head.Sender) {
	type set = func(r *head.Response, by *head.Sender)
	both := func(a, b set) set {
		return func(r *head.Response, by *head.Sender) { a(r, by); b(r, by) }
	}
	length := func(n int64) set {
		return func(r *head.Response, _ *head.Sender) { r.ContentLength = n }
	}
	slot := func(id msg.ID, value string) set {
		return both(length(5), func(r *head.Response, _ *head.Sender) { r.SetSlot(id, []byte(value)) })
	}
	other := [head.DateLen]byte([]byte("Mon, 07 Nov 1994 08:49:37 GMT"))
	return map[string]set{
		"empty":       length(0),
		"five":        length(5),
		"seven":       length(7),
		"long":        length(1 << 40),
		"chunked":     length(msg.LenChunked),
		"type a":      slot(msg.ContentType, "text/a"),
		"type b":      slot(msg.ContentType, "text/b"),
		"server a":    slot(msg.Server, "a"),
		"server b":    slot(msg.Server, "b"),
		"record":      both(length(5), func(r *head.Response, _ *head.Sender) { r.Add(msg.Etag, nil, []byte(`"a"`)) }),
		"no date":     both(length(5), func(r *head.Response, _ *head.Sender) { r.Implied |= head.NoDate }),
		"no type":     both(length(5), func(r *head.Response, _ *head.Sender) { r.Implied |= head.NoDefaultType }),
		"status":      both(length(5), func(r *head.Response, _ *head.Sender) { r.Status = 404 }),
		"reason":      both(length(5), func(r *head.Response, _ *head.Sender) { r.SetPart(msg.Reason, []byte("Fine")) }),
		"closing":     both(length(5), func(r *head.Response, _ *head.Sender) { r.Conn = msg.ConnClose }),
		"later":       both(length(5), func(_ *head.Response, by *head.Sender) { by.Date = &other }),
		"by somebody": both(length(5), func(_ *head.Response, by *head.Sender) { by.Server = "somebody" }),
		"by nobody":   both(length(5), func(_ *head.Response, by *head.Sender) { by.Server = "" }),
		"copied": func(r *head.Response, _ *head.Sender) {
			var from head.Response
			from.Reset()
			from.ContentLength = 5
			from.SetSlot(msg.ContentType, []byte("text/c"))
			from.CopyTo(r)
		},
	}
}

// Of any two responses, written one after the other with the same opening, the second
// is as if it were the first.
func TestOpeningOfTheLastResponse(t *testing.T) {
	date := [head.DateLen]byte([]byte("Sun, 06 Nov 1994 08:49:37 GMT"))
	cases := openingCases()
	for first, setFirst := range cases {
		for second, setSecond := range cases {
			var r head.Response
			var o Opening
			var by head.Sender
			for _, set := range []func(*head.Response, *head.Sender){setFirst, setSecond} {
				r.ResetAll()
				by = head.Sender{Server: "gale", Date: &date, ZeroLength: true}
				set(&r, &by)
				whole := string(o.Whole(&r, by.Server, by.Date))
				got := string(AppendResponseHead(nil, &r, &o, by))
				want := string(AppendResponseHead(nil, &r, new(Opening), by))
				if got != want || whole != "" && whole != want {
					t.Errorf("%s after %s is\n%q, as a whole\n%q, want\n%q", second, first, got, whole, want)
				}
			}
			if whole := o.Whole(&r, by.Server, by.Date); first == second && first == "five" && whole == nil {
				t.Error("the same response again isn't found")
			}
		}
	}
}
