package wsframe

import (
	"strings"
	"testing"
)

// lines splits what stands for several fields at "|".
func lines(s string) (values [][]byte) {
	if s == "" {
		return nil
	}
	for v := range strings.SplitSeq(s, "|") {
		values = append(values, []byte(v))
	}
	return values
}

// TestNegotiate has offers to a server and its answers; "" declines.
func TestNegotiate(t *testing.T) {
	none := DeflateOptions{}
	both := DeflateOptions{ServerTakeover: true, ClientTakeover: true}
	small := DeflateOptions{ServerTakeover: true, ClientTakeover: true, ServerBits: 11, ClientBits: 10}
	const noTakeover = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
	tests := []struct {
		options     DeflateOptions
		offer, want string
	}{
		{none, "", ""},
		{none, "permessage-deflate", noTakeover},
		{none, "permessage-deflate; client_max_window_bits", noTakeover},
		{both, "permessage-deflate", "permessage-deflate"},
		{both, "Permessage-Deflate", "permessage-deflate"},
		{both, "permessage-deflate; server_no_context_takeover", "permessage-deflate; server_no_context_takeover"},
		{both, "permessage-deflate; client_no_context_takeover", "permessage-deflate; client_no_context_takeover"},
		{both, "permessage-deflate;server_max_window_bits=9;client_max_window_bits=9", "permessage-deflate; server_max_window_bits=9; client_max_window_bits=9"},
		{both, "permessage-deflate; server_max_window_bits=15", "permessage-deflate; server_max_window_bits=15"},
		{both, "permessage-deflate; server_max_window_bits=8", "permessage-deflate; server_max_window_bits=8"},
		{both, "permessage-deflate; client_max_window_bits=15", "permessage-deflate"},
		{both, `permessage-deflate; server_max_window_bits="10"`, "permessage-deflate; server_max_window_bits=10"},
		{both, `permessage-deflate; server_max_window_bits="1\0"`, "permessage-deflate; server_max_window_bits=10"},
		{small, "permessage-deflate", "permessage-deflate; server_max_window_bits=11"},
		{small, "permessage-deflate; client_max_window_bits", "permessage-deflate; server_max_window_bits=11; client_max_window_bits=10"},
		{small, "permessage-deflate; client_max_window_bits=9", "permessage-deflate; server_max_window_bits=11; client_max_window_bits=9"},
		{small, "permessage-deflate; server_max_window_bits=12", "permessage-deflate; server_max_window_bits=11"},

		// The first acceptable offer counts.
		{both, "permessage-deflate; server_max_window_bits=10, permessage-deflate", "permessage-deflate; server_max_window_bits=10"},
		{both, "permessage-deflate; x=1, permessage-deflate; server_no_context_takeover", "permessage-deflate; server_no_context_takeover"},
		{both, "foo; bar=1; baz|permessage-deflate", "permessage-deflate"},
		{both, `foo; bar="x", , permessage-deflate ,`, "permessage-deflate"},
		{both, "x-webkit-deflate-frame", ""},

		// Parameters that make an offer unacceptable (RFC 7692 section 7.1).
		{both, "permessage-deflate; unknown", ""},
		{both, "permessage-deflate; server_no_context_takeover=1", ""},
		{both, "permessage-deflate; client_no_context_takeover=true", ""},
		{both, "permessage-deflate; server_max_window_bits", ""},
		{both, "permessage-deflate; server_max_window_bits=7", ""},
		{both, "permessage-deflate; server_max_window_bits=16", ""},
		{both, "permessage-deflate; server_max_window_bits=09", ""},
		{both, "permessage-deflate; server_max_window_bits=a", ""},
		{both, "permessage-deflate; client_max_window_bits=0", ""},
		{both, "permessage-deflate; client_max_window_bits=100", ""},
		{both, "permessage-deflate; client_max_window_bits; client_max_window_bits", ""},
		{both, "permessage-deflate; server_max_window_bits=9; server_max_window_bits=9", ""},
		{both, "permessage-deflate; server_no_context_takeover; server_no_context_takeover", ""},

		// Not the form of RFC 6455 section 9.1.
		{both, "permessage-deflate;", ""},
		{both, "permessage-deflate; =1", ""},
		{both, "permessage-deflate; a=", ""},
		{both, `permessage-deflate; a="`, ""},
		{both, `permessage-deflate; a="x y"`, ""},
		{both, `permessage-deflate; a=""`, ""},
		{both, `permessage-deflate; a="\`, ""},
		{both, "permessage-deflate permessage-deflate", ""},
		{both, "a b, permessage-deflate", ""},
		{both, "@|permessage-deflate", ""},
		{both, ";|permessage-deflate", ""},
	}
	for _, tt := range tests {
		d := tt.options.Negotiate(lines(tt.offer))
		got := ""
		if d.On {
			got = string(d.AppendResponse(nil))
		}
		if got != tt.want {
			t.Errorf("%+v, %s: %q, want %q", tt.options, tt.offer, got, tt.want)
		}
		if d.On && (d.ServerBits < minBits || d.ServerBits > maxBits || d.ClientBits < minBits || d.ClientBits > maxBits) {
			t.Errorf("%s: windows of %d and %d bits", tt.offer, d.ServerBits, d.ClientBits)
		}
	}
}

func TestValidExtensions(t *testing.T) {
	for v, want := range map[string]bool{
		"":                     true,
		"foo":                  true,
		"foo, bar; x=1; y|baz": true,
		`foo; x="1"`:           true,
		",,foo,":               true,
		"foo;":                 false,
		"foo bar":              false,
		"foo; x=":              false,
		`foo; x="a`:            false,
		"foo|;":                false,
		"foo; x = 1":           true,
		"fo/o":                 false,
		`foo; x="averyveryverylongvaluethatexceedsthescratchmemoryofthefunction"`: true,
	} {
		if ValidExtensions(lines(v)) != want {
			t.Errorf("%q: %v", v, !want)
		}
	}
}

// TestAccept has answers of servers to a client's offer.
func TestAccept(t *testing.T) {
	none := DeflateOptions{}
	both := DeflateOptions{ServerTakeover: true, ClientTakeover: true}
	small := DeflateOptions{ServerTakeover: true, ClientTakeover: true, ServerBits: 11, ClientBits: 10}
	type want struct {
		on, serverNo, clientNo bool
		server, client         uint8
	}
	off := want{}
	bad := want{server: 99}
	tests := []struct {
		options DeflateOptions
		offer   string
		answer  string
		want    want
	}{
		{none, "permessage-deflate; server_no_context_takeover; client_no_context_takeover; client_max_window_bits", "", off},
		{none, "", "permessage-deflate; server_no_context_takeover", want{true, true, true, 15, 15}},
		{none, "", "permessage-deflate; server_no_context_takeover; client_no_context_takeover", want{true, true, true, 15, 15}},
		{none, "", "permessage-deflate", bad}, // the offer demanded server_no_context_takeover
		{both, "permessage-deflate; client_max_window_bits", "permessage-deflate", want{true, false, false, 15, 15}},
		{both, "", " , ", off},
		{both, "", "permessage-deflate; server_no_context_takeover; client_no_context_takeover", want{true, true, true, 15, 15}},
		{both, "", "permessage-deflate; server_max_window_bits=9; client_max_window_bits=8", want{true, false, false, 9, 8}},
		{small, "permessage-deflate; server_max_window_bits=11; client_max_window_bits=10", "permessage-deflate; server_max_window_bits=11", want{true, false, false, 11, 10}},
		{small, "", "permessage-deflate; server_max_window_bits=9; client_max_window_bits=9", want{true, false, false, 9, 9}},
		{small, "", "permessage-deflate", bad},
		{small, "", "permessage-deflate; server_max_window_bits=12", bad},
		{small, "", "permessage-deflate; server_max_window_bits=11; client_max_window_bits=11", bad},
		{both, "", "permessage-deflate; client_max_window_bits", bad},
		{both, "", "permessage-deflate; server_max_window_bits", bad},
		{both, "", "permessage-deflate; server_max_window_bits=16", bad},
		{both, "", "permessage-deflate; client_no_context_takeover=1", bad},
		{both, "", "permessage-deflate; foo", bad},
		{both, "", "permessage-deflate; server_no_context_takeover; server_no_context_takeover", bad},
		{both, "", "permessage-deflate, permessage-deflate", bad},
		{both, "", "permessage-deflate|permessage-deflate", bad},
		{both, "", "foo", bad},
		{both, "", "permessage-deflate, foo", bad},
		{both, "", "permessage-deflate;", bad},
		{both, "", "permessage-deflate @", bad},
	}
	for _, tt := range tests {
		if offer := string(tt.options.AppendOffer(nil)); tt.offer != "" && offer != tt.offer {
			t.Errorf("%+v: offer %q, want %q", tt.options, offer, tt.offer)
		}
		d, err := tt.options.Accept(lines(tt.answer))
		got := want{d.On, d.ServerNoTakeover, d.ClientNoTakeover, d.ServerBits, d.ClientBits}
		if err != nil {
			if got != off {
				t.Errorf("%q: %+v with an error", tt.answer, got)
			}
			got = bad
		}
		if got != tt.want {
			t.Errorf("%+v, %q: %+v, want %+v", tt.options, tt.answer, got, tt.want)
		}
	}
}

// TestNegotiateEveryOption proves for all options of both sides that the client accepts
// what the server answers, and that both then know the same.
func TestNegotiateEveryOption(t *testing.T) {
	var all []DeflateOptions
	for i := range 4 {
		for _, sb := range []uint8{0, 8, 11, 15} {
			for _, cb := range []uint8{0, 8, 11, 15} {
				all = append(all, DeflateOptions{i&1 != 0, i&2 != 0, sb, cb})
			}
		}
	}
	for _, client := range all {
		for _, server := range all {
			s := server.Negotiate([][]byte{client.AppendOffer(nil)})
			c, err := client.Accept([][]byte{s.AppendResponse(nil)})
			s.namesServerBits, s.offeredClient = false, false
			if err != nil || !s.On {
				t.Fatalf("client %+v, server %+v: %+v, %+v, %v", client, server, s, c, err)
			}
			if s != c {
				t.Fatalf("client %+v, server %+v: the server has %+v, the client %+v", client, server, s, c)
			}
		}
	}
}

func FuzzExtensions(f *testing.F) {
	f.Add("permessage-deflate; server_max_window_bits=10, foo; x=\"y\"")
	f.Fuzz(func(t *testing.T, v string) {
		o := DeflateOptions{ServerTakeover: true}
		d := o.Negotiate(lines(v))
		if d.On && (d.ServerBits < minBits || d.ServerBits > maxBits || d.ClientBits < minBits || d.ClientBits > maxBits) {
			t.Fatalf("%+v", d)
		}
		if _, err := o.Accept(lines(v)); err == nil && !ValidExtensions(lines(v)) {
			t.Fatal("a broken answer is accepted")
		}
	})
}
