package figures

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func written(t testing.TB, run *Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := run.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDocumentRoundTrip(t *testing.T) {
	for _, run := range []*Run{closedRun(t), openRun(t), {}} {
		text := written(t, run)
		got, err := Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if again := written(t, got); again != text {
			t.Errorf("written again, the document differs:\n%s\n%s", again, text)
		}
		want := *run
		want.Format = Format
		want.fill()
		if !reflect.DeepEqual(got, &want) {
			t.Errorf("read %+v, want %+v", got, want)
		}
	}
}

// TestDocumentNames shows that requests_per_second is at the top level, and pins that lists
// without elements are there.
func TestDocumentNames(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal([]byte(written(t, &Run{RequestsPerSecond: 5})), &doc); err != nil {
		t.Fatal(err)
	}
	if doc["requests_per_second"] != 5.0 || doc["format"] != float64(Format) {
		t.Error(doc)
	}
	for _, name := range []string{"errors", "targets", "intervals", "command"} {
		if list, ok := doc[name].([]any); !ok || len(list) != 0 {
			t.Errorf("%s is %v, want an empty list", name, doc[name])
		}
	}
}

// zeros is an endless document.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestDocumentErrors(t *testing.T) {
	tests := []struct {
		name string
		in   io.Reader
		want string
	}{
		{"empty", strings.NewReader(""), "not a document"},
		{"not JSON", strings.NewReader("hello"), "not a document"},
		{"a list", strings.NewReader("[]"), "not a document"},
		{"another document", strings.NewReader(`{"a":1}`), "it has no format"},
		{"newer", strings.NewReader(`{"format":999,"latency":"changed"}`), "format 999"},
		{"wrong type", strings.NewReader(`{"format":1,"latency":"changed"}`), "not a document"},
		{"two documents", strings.NewReader(`{"format":1}{"format":1}`), "not a document"},
		{"endless", zeros{}, "more than"},
	}
	for _, tt := range tests {
		if _, err := Read(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error is %v, want %q", tt.name, err, tt.want)
		}
	}
	name := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(name); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("the error doesn't name the file: %v", err)
	}
	if _, err := ReadFile(name + "x"); err == nil {
		t.Error("there is a file that isn't there")
	}
}

// FuzzRead reads anything and does everything with what it got.
func FuzzRead(f *testing.F) {
	f.Add([]byte(written(f, closedRun(f))))
	f.Add([]byte(written(f, openRun(f))))
	f.Add([]byte(`{"format":1,"seconds":-1,"settings":{"local":true},"server":{"allowed":-5},"schedule":{}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		run, err := Read(bytes.NewReader(doc))
		if err != nil {
			return
		}
		run.Verdict = Judge(run)
		if err := WriteTable(io.Discard, run); err != nil {
			t.Error(err)
		}
		if err := WriteCSV(io.Discard, run.Intervals); err != nil {
			t.Error(err)
		}
		written(t, run)
	})
}
