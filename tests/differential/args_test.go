package differential

import (
	"bytes"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/valyala/fasthttp"
)

// argsAPI has the methods that both types of arguments have.
type argsAPI interface {
	Add(key, value string)
	AddBytesK(key []byte, value string)
	AddBytesKNoValue(key []byte)
	AddBytesKV(key, value []byte)
	AddBytesV(key string, value []byte)
	AddNoValue(key string)
	All() iter.Seq2[[]byte, []byte]
	AppendBytes(dst []byte) []byte
	Del(key string)
	DelBytes(key []byte)
	GetBool(key string) bool
	GetUfloat(key string) (float64, error)
	GetUfloatOrZero(key string) float64
	GetUint(key string) (int, error)
	GetUintOrZero(key string) int
	Has(key string) bool
	HasBytes(key []byte) bool
	Len() int
	Parse(s string)
	ParseBytes(b []byte)
	Peek(key string) []byte
	PeekBytes(key []byte) []byte
	PeekMulti(key string) [][]byte
	PeekMultiBytes(key []byte) [][]byte
	QueryString() []byte
	Reset()
	Set(key, value string)
	SetBytesK(key []byte, value string)
	SetBytesKNoValue(key []byte)
	SetBytesKV(key, value []byte)
	SetBytesV(key string, value []byte)
	SetNoValue(key string)
	SetUint(key string, value int)
	SetUintBytes(key []byte, value int)
	Sort(f func(x, y []byte) int)
	SortKeys(f func(x, y []byte) int)
	String() string
	VisitAll(f func(key, value []byte))
}

var argsDifferences = differences{
	{row: "text of the error of `ParseUint` for too large a number", when: func(o observation) bool {
		return o.what == "GetUint" && o.gale == "-1 error(too long int) 0" && strings.HasPrefix(o.peer, "-1 error(unexpected trailing char")
	}},
	{row: "`+` after an incomplete `%` at the end of a key or value", when: func(o observation) bool {
		return strings.ReplaceAll(o.peer, "%25%2B", "%25+") == o.gale && strings.Contains(o.in, "%+")
	}},
	{row: "`ParseUfloat` of `NaN`, `Inf`, `1_0`", when: func(o observation) bool {
		return strings.HasPrefix(o.what, "GetUfloat") && strings.Contains(o.gale, "parsing") && !strings.Contains(o.peer, "error")
	}},
}

var (
	argsKeys   = []string{"a", "b", "A", "", "key", "a longer key than eight", "a longer key than nine", "%61", "ä", "\x00", "a&b", "c=d", "a+b", "[]"}
	argsValues = []string{"", "b", "1", "0", "-1", "12345", "1.5", "true", "Yes", "a b", "a+b", "%20", "é", "\xff\x00\r\n", "&=?#%", "9223372036854775807", "9223372036854775808", "1e3", "NaN", "0x1p4", "1_0", "+1", ".5", "-0.1", strings.Repeat("long ", 30)}
	argsPieces = []string{"a", "b", "=", "&", "+", "%", "%20", "%4", "%zz", "%61", "key", ";", "#", "?", "é", "\x00", "\xff", "1", "==", "&&", "%3D", "%26", "a=b", "&a"}
	argsInputs = []string{"", "a", "a=", "=a", "=", "&", "a=b&c=d", "a&b&c", "a=b&&c=d&", "a==b", "a=b=c", "a+b=c+d", "%", "%%", "%4", "%41", "%41=%42", "%zz=%2", "a=%00", "a;b=c;d", "a=1&a=2&a=3", "?a=b", "a=b#c", "a%3Db=c", "a%26b=c", "a=b%26c", "%E2%82%AC=%e2%82%ac", "\xff=\xfe", strings.Repeat("a=b&", 300), "a=b&c", "a[0]=1&a[1]=2", "a=+&+=a"}
)

// observeArgs calls all methods that change nothing.
func observeArgs(tr *trace, a argsAPI, key string) {
	tr.add("Len", a.Len())
	// In fasthttp it depends on earlier uses of its memory whether an empty slice is nil,
	// so that is not compared.
	tr.add("QueryString", string(a.QueryString()))
	tr.add("String", a.String())
	tr.add("AppendBytes", a.AppendBytes([]byte("x")))
	tr.add(fmt.Sprintf("Peek(%q)", key), string(a.Peek(key)))
	tr.add("PeekBytes", string(a.PeekBytes([]byte(key))))
	tr.add("PeekMulti", quoteAll(a.PeekMulti(key)))
	tr.add("PeekMultiBytes", quoteAll(a.PeekMultiBytes([]byte(key))))
	tr.add("Has", a.Has(key), a.HasBytes([]byte(key)))
	tr.add("GetBool", a.GetBool(key))
	n, err := a.GetUint(key)
	tr.add("GetUint", n, err, a.GetUintOrZero(key))
	var all, visited []string
	for k, v := range a.All() {
		all = append(all, fmt.Sprintf("%q=%q", k, v))
	}
	a.VisitAll(func(k, v []byte) { visited = append(visited, fmt.Sprintf("%q=%q", k, v)) })
	tr.add("All", all)
	tr.add("VisitAll", visited)
	x, err := a.GetUfloat(key)
	tr.add("GetUfloat", x, err, a.GetUfloatOrZero(key))
}

func quoteAll(all [][]byte) string {
	if all == nil {
		return "nil"
	}
	return fmt.Sprintf("%q", all)
}

// playArgs does what the script says.
func playArgs(tr *trace, a argsAPI, copyTo func(), b []byte) {
	s := &script{b}
	for s.more() {
		op := s.n(20)
		key, value := s.pick(argsKeys), s.pick(argsValues)
		k, v := []byte(key), []byte(value)
		tr.add(fmt.Sprintf("(op %d, %q, %q)", op, key, value))
		switch op {
		case 0:
			a.Add(key, value)
		case 1:
			a.AddBytesK(k, value)
		case 2:
			a.AddBytesV(key, v)
		case 3:
			a.AddBytesKV(k, v)
		case 4:
			a.AddNoValue(key)
		case 5:
			a.AddBytesKNoValue(k)
		case 6:
			a.Set(key, value)
		case 7:
			a.SetBytesK(k, value)
		case 8:
			a.SetBytesV(key, v)
		case 9:
			a.SetBytesKV(k, v)
		case 10:
			a.SetNoValue(key)
		case 11:
			a.SetBytesKNoValue(k)
		case 12:
			a.SetUint(key, len(value)*1234567)
		case 13:
			a.SetUintBytes(k, len(value))
		case 14:
			a.Del(key)
		case 15:
			a.DelBytes(k)
		case 16:
			a.Parse(s.join(argsPieces, 12))
		case 17:
			a.ParseBytes([]byte(s.join(argsPieces, 12)))
		case 18:
			copyTo()
		case 19:
			switch s.n(8) {
			case 0:
				a.Reset()
			case 1, 2:
				a.Sort(bytes.Compare)
			case 3, 4:
				a.SortKeys(bytes.Compare)
			case 5:
				a.Set(key, string(a.Peek(s.pick(argsKeys))))
			case 6:
				a.SetBytesV(key, a.Peek(s.pick(argsKeys)))
			case 7:
				a.ParseBytes(a.QueryString())
			}
		}
		observeArgs(tr, a, key)
	}
}

// checkArgsScript compares one script.
func checkArgsScript(t *testing.T, b []byte) {
	var ours, peers trace
	ga, gb := new(gale.Args), new(gale.Args)
	playArgs(&ours, ga, func() { ga.CopyTo(gb); gb.CopyTo(ga) }, b)
	fa, fb := new(fasthttp.Args), new(fasthttp.Args)
	playArgs(&peers, fa, func() { fa.CopyTo(fb); fb.CopyTo(fa) }, b)
	compare(t, argsDifferences, fmt.Sprintf("%x", b), &ours, &peers)
}

// checkArgsInput compares how one query string is read, also with net/url if that accepts
// it.
func checkArgsInput(t *testing.T, in string) {
	var ours, peers trace
	var ga gale.Args
	var fa fasthttp.Args
	ga.Parse(in)
	fa.Parse(in)
	values, err := url.ParseQuery(in)
	for _, key := range append([]string{"a"}, argsKeys...) {
		observeArgs(&ours, &ga, key)
		observeArgs(&peers, &fa, key)
		if err == nil && string(ga.Peek(key)) != values.Get(key) {
			t.Errorf("%q: Peek(%q) = %q, net/url has %q", in, key, ga.Peek(key), values.Get(key))
		}
	}
	compare(t, argsDifferences, in, &ours, &peers)
	if g, f := gale.AppendQuotedArg(nil, []byte(in)), fasthttp.AppendQuotedArg(nil, []byte(in)); !bytes.Equal(g, f) {
		t.Errorf("AppendQuotedArg(%q) = %q, fasthttp %q", in, g, f)
	}
	ours, peers = trace{}, trace{}
	ours.add("AppendUnquotedArg", gale.AppendQuotedArg(nil, gale.AppendUnquotedArg(nil, []byte(in))))
	peers.add("AppendUnquotedArg", fasthttp.AppendQuotedArg(nil, fasthttp.AppendUnquotedArg(nil, []byte(in))))
	compare(t, argsDifferences, in, &ours, &peers)
}

func TestArgs(t *testing.T) {
	for _, in := range argsInputs {
		checkArgsInput(t, in)
	}
	for _, b := range scripts(600, 16) {
		checkArgsInput(t, (&script{b}).join(argsPieces, 14))
	}
	for _, b := range scripts(400, 90) {
		checkArgsScript(t, b)
	}
	argsDifferences.checkDocumented(t)
}

func FuzzArgs(f *testing.F) {
	for _, in := range argsInputs {
		f.Add(in, []byte(in))
	}
	for i, b := range scripts(8, 60) {
		f.Add(argsInputs[i], b)
	}
	f.Fuzz(func(t *testing.T, in string, script []byte) {
		checkArgsInput(t, in)
		checkArgsScript(t, script[:min(len(script), 300)])
	})
}
