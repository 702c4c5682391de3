package msg

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/race"
)

// model is the obvious implementation of Fields.
type model []struct{ name, value string }

func (m model) find(name string) int {
	for i := range m {
		if strings.EqualFold(m[i].name, name) {
			return i
		}
	}
	return -1
}

func (m *model) add(name, value string) {
	*m = append(*m, struct{ name, value string }{name, value})
}

func (m *model) del(name string, from int) {
	kept := (*m)[:from:from]
	for _, f := range (*m)[from:] {
		if !strings.EqualFold(f.name, name) {
			kept = append(kept, f)
		}
	}
	*m = kept
}

func (m *model) set(name, value string) {
	i := m.find(name)
	if i < 0 {
		m.add(name, value)
		return
	}
	(*m)[i].value = value
	m.del(name, i+1)
}

func (m model) wire() string {
	var b strings.Builder
	for _, f := range m {
		fmt.Fprintf(&b, "%s: %s\r\n", f.name, f.value)
	}
	return b.String()
}

func canonical(name string) string {
	return string(bytesconv.AppendCanonicalName(nil, []byte(name)))
}

// parsed makes Fields as the parser leaves them.
func parsed(m model) *Fields {
	f := new(Fields)
	f.Buf = append(f.Buf, "GET /path HTTP/1.1\r\n"...)
	f.Parts[Method] = Span{0, 3}
	f.Parts[Target] = Span{4, 5}
	for _, field := range m {
		name, value := f.Store([]byte(field.name)), Span{}
		f.Buf = append(f.Buf, ':')
		value = f.Store([]byte(field.value))
		f.Buf = append(f.Buf, "\r\n"...)
		f.Push(Field{
			NameOff: name.Off, NameLen: uint16(name.Len), ValOff: value.Off, ValLen: value.Len,
			ID: LookupString(field.name),
		})
	}
	return f
}

// equal compares f with its model through every door.
func equal(t *testing.T, f *Fields, m model, names []string) {
	t.Helper()
	var got model
	for i := range f.Recs {
		if f.Recs[i].Flags&Dead == 0 {
			got.add(string(f.Name(i)), string(f.Value(i)))
		}
	}
	if got.wire() != m.wire() {
		t.Fatalf("got\n%swant\n%s", got.wire(), m.wire())
	}
	if wire := string(f.AppendWire([]byte("x"), 0)); wire != "x"+m.wire() {
		t.Fatalf("wire form is\n%swant\n%s", wire, m.wire())
	}
	if f.Len() != len(m) {
		t.Fatalf("Len is %d, want %d", f.Len(), len(m))
	}
	for _, name := range names {
		i, want := f.FindName([]byte(name)), m.find(name)
		if (i < 0) != (want < 0) {
			t.Fatalf("FindName(%q) = %d, want %d", name, i, want)
		}
		if id := LookupString(name); id != Unknown {
			if f.Find(id) != i || f.Has(id) != (want >= 0) {
				t.Fatalf("Find(%q) = %d, want %d", name, f.Find(id), i)
			}
			if got := f.AppendWire(nil, 1<<id); strings.Contains(string(got), name+": ") {
				t.Fatalf("%q is not skipped in\n%s", name, got)
			}
		}
		for _, field := range m {
			if !strings.EqualFold(field.name, name) {
				continue
			}
			if i < 0 || string(f.Value(i)) != field.value {
				t.Fatalf("%q: value number %d is wrong or missing", name, i)
			}
			i = f.Next(i)
		}
		if i >= 0 {
			t.Fatalf("%q: Next goes on to %d", name, i)
		}
	}
}

var testNames = []string{"X-Custom-Name", "X-Custom-Nam1", "Host", "X-A", "Accept", "Foo-Bar", "Cookie", "X-B"}

// run does what ops say to f and to its model, and compares them.
func run(t *testing.T, f *Fields, m model, ops []byte) {
	for len(ops) >= 3 {
		op, name := ops[0]%10, testNames[int(ops[1])%len(testNames)]
		value := strings.Repeat(string('a'+rune(ops[2]%16)), int(ops[2]))
		if ops[0] >= 128 {
			value = strings.Repeat(value, 20)
		}
		ops = ops[3:]
		id := LookupString(name)
		raw := []byte(name)
		switch op {
		case 0, 1:
			if id != Unknown && op == 0 {
				raw = nil
			}
			f.Add(id, raw, []byte(value))
			m.add(name, value)
		case 2, 3, 4:
			f.Set(id, raw, []byte(value))
			m.set(name, value)
		case 5:
			f.Del(id, raw)
			m.del(name, 0)
		case 6:
			if i := f.FindName(raw); i >= 0 {
				f.SetAt(i, []byte(value))
				m[m.find(name)].value = value
			}
		case 8:
			f.Put(id, []byte(strings.ToLower(name)), []byte(value), Normalized)
			m.set(name, value)
		case 9:
			f.PutMore(id, []byte(name), []byte(value), AsGiven)
			m.add(name, value)
		case 7:
			c := new(Fields)
			c.Add(Accept, nil, []byte("old"))
			f.CopyTo(c)
			f.Reset()
			f.Add(Host, nil, []byte("other"))
			f = c
		}
	}
	equal(t, f, m, testNames)
}

func startModel() model {
	var m model
	for _, s := range []string{"hOST: a", "x-a: 1", "Accept: b", "x-a: 2", "ACCEPT: ", "foo-bar: c"} {
		name, value, _ := strings.Cut(s, ": ")
		m.add(name, value)
	}
	return m
}

// canonicalModel is m with the names as Name shows them.
func canonicalModel(m model) model {
	var c model
	for _, f := range m {
		c.add(canonical(f.name), f.value)
	}
	return c
}

func TestFieldsModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range race.Fewer(3000) {
		ops := make([]byte, r.IntN(120))
		for i := range ops {
			ops[i] = byte(r.Uint32())
		}
		run(t, new(Fields), nil, ops)
		start := startModel()
		run(t, parsed(start), canonicalModel(start), ops)
	}
}

func FuzzFields(f *testing.F) {
	f.Add([]byte("\x00\x01\x20\x82\x01\xff\x82\x01\xfe\x05\x01\x00\x00\x01\x02"))
	f.Add([]byte("\x82\x01\xff\x82\x03\xff\x85\x03\xff\x07\x00\x00\x82\x01\xf1"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		run(t, new(Fields), nil, ops)
		start := startModel()
		run(t, parsed(start), canonicalModel(start), ops)
	})
}

// A head that is changed again and again must not grow.
func TestFieldsStayBounded(t *testing.T) {
	big := []byte(strings.Repeat("v", 1000))
	for name, change := range map[string]func(f *Fields, i int){
		"Set":         func(f *Fields, i int) { f.Set(Unknown, []byte("X-A"), big[:i%1000]) },
		"Add and Del": func(f *Fields, i int) { f.Add(Accept, nil, big[:i%10]); f.Del(Accept, nil) },
		"Put and Del": func(f *Fields, i int) {
			f.Put(Unknown, []byte("X-Abcdefg"), big[:i%10], Normalized)
			f.Del(Unknown, []byte("X-Abcdefg"))
		},
		"Put":     func(f *Fields, i int) { f.Put(Unknown, []byte("X-Abcdefg"), big[:i%1000], Normalized) },
		"SetPart": func(f *Fields, i int) { f.SetPart(Target, big[:i%1000]) },
	} {
		f := parsed(startModel())
		for i := range 20_000 {
			change(f, i)
		}
		if len(f.Buf) > 16<<10 || len(f.Recs) > 2000 {
			t.Errorf("%s: %d bytes, %d records", name, len(f.Buf), len(f.Recs))
		}
		if string(f.Part(Method)) != "GET" || string(f.Value(f.FindName([]byte("foo-bar")))) != "c" {
			t.Errorf("%s: the rest has suffered", name)
		}
	}
}

func TestFieldsLimits(t *testing.T) {
	var f Fields
	if f.Add(Unknown, make([]byte, MaxNameLen+1), nil) {
		t.Error("a name beyond MaxNameLen must be refused")
	}
	for i := range MaxFields {
		if !f.Add(Accept, nil, nil) {
			t.Fatalf("field %d was refused", i)
		}
	}
	if f.Add(Accept, nil, nil) || f.Set(Host, nil, nil) || f.Push(Field{}) {
		t.Error("fields beyond MaxFields must be refused")
	}
	if f.Set(Accept, nil, []byte("x")); f.Len() != 1 {
		t.Errorf("%d fields are left", f.Len())
	}
}

func TestFieldsReset(t *testing.T) {
	f := parsed(startModel())
	f.Reset()
	if f.Len() != 0 || f.Has(Host) || f.FindName([]byte("x-a")) >= 0 || len(f.Part(Method)) != 0 || len(f.AppendWire(nil, 0)) != 0 {
		t.Error("something is left")
	}
	f.Store(make([]byte, 1<<20))
	f.Reset()
	if cap(f.Buf) > 64<<10 {
		t.Error("a huge arena must not be kept")
	}
}

// The block as received stays as it is, whatever is changed.
func TestFieldsKeepTheRawBlock(t *testing.T) {
	f := parsed(startModel())
	f.Parts[Raw] = Span{20, uint32(len(f.Buf) - 20)}
	want := string(f.Part(Raw))
	f.Set(Unknown, []byte("X-A"), []byte("9"))
	f.Set(Host, nil, []byte("z"))
	f.Name(f.FindName([]byte("foo-bar")))
	f.Del(Accept, nil)
	for i := range 100 {
		f.Set(Cookie, nil, []byte(strings.Repeat("v", 100+i)))
	}
	if got := string(f.Part(Raw)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFieldsAppend(t *testing.T) {
	f := parsed(startModel())
	f.DelAt(1)
	n := f.Len()
	var from Fields
	from.Add(Etag, nil, []byte("a"))
	from.Add(Unknown, []byte("X-B"), []byte("b"))
	from.Add(Unknown, []byte("X-C"), []byte("c"))
	from.DelAt(2)
	if !f.Append(&from) || f.Len() != n+2 || string(f.Peek(Etag)) != "a" || string(f.Value(f.FindName([]byte("x-b")))) != "b" || f.FindName([]byte("X-C")) >= 0 {
		t.Errorf("%d fields: %q", f.Len(), f.AppendWire(nil, 0))
	}
	if err := f.Check(); err != nil {
		t.Error(err)
	}
	full := Fields{Recs: make([]Field, MaxFields)}
	if full.Append(&from) || len(full.Recs) != MaxFields {
		t.Error("more than MaxFields were accepted")
	}
}

func TestHeadCopyTo(t *testing.T) {
	var h, dst RequestHead
	h.Reset()
	h.Add(Host, nil, []byte("a"))
	h.SetPart(Target, []byte("/x"))
	h.ContentLength, h.MethodID = 5, MethodPost
	dst.Add(Accept, nil, []byte("old"))
	h.CopyTo(&dst)
	h.Set(Host, nil, []byte("b"))
	if string(dst.Peek(Host)) != "a" || dst.Has(Accept) || dst.ContentLength != 5 || dst.MethodID != MethodPost || string(dst.Part(Target)) != "/x" {
		t.Error("the copy differs")
	}
	var r, rdst ResponseHead
	r.Add(Server, nil, []byte("a"))
	r.Status = 404
	r.CopyTo(&rdst)
	r.Reset()
	if rdst.Status != 404 || string(rdst.Peek(Server)) != "a" || r.Status != 0 {
		t.Error("the copy of the response differs")
	}
}
