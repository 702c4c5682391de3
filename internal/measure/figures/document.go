package figures

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// MaxDocument is the size of a document that Read accepts.
const MaxDocument = 64 << 20

// Read reads a document that Write has written. It refuses one of a newer format, one that
// is larger than MaxDocument, and whatever follows the document.
func Read(r io.Reader) (*Run, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxDocument {
		return nil, fmt.Errorf("the document has more than %s", FormatBytes(MaxDocument))
	}
	var head struct {
		Format *int `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("not a document of gale bench: %w", err)
	}
	switch {
	case head.Format == nil || *head.Format < 1:
		return nil, errors.New("not a document of gale bench: it has no format")
	case *head.Format > Format:
		return nil, fmt.Errorf("the document has format %d, and this program reads up to %d: use a newer one", *head.Format, Format)
	}
	run := &Run{}
	if err := json.Unmarshal(text, run); err != nil {
		return nil, fmt.Errorf("not a document of gale bench: %w", err)
	}
	return run, nil
}

// ReadFile reads the document of a file. Errors name the file.
func ReadFile(name string) (*Run, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	run, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return run, nil
}

// Write writes run as an indented JSON document with its format set to Format.
func (r *Run) Write(w io.Writer) error {
	doc := *r
	doc.Format = Format
	doc.fill()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(&doc); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// fill makes lists that are empty instead of missing, for readers in other languages.
func (r *Run) fill() {
	if r.Command == nil {
		r.Command = []string{}
	}
	if r.Errors == nil {
		r.Errors = []ErrorCount{}
	}
	if r.Outages.List == nil {
		r.Outages.List = []Outage{}
	}
	if r.Statuses == nil {
		r.Statuses = map[string]int64{}
	}
	if r.Targets == nil {
		r.Targets = []Target{}
	}
	if r.Intervals == nil {
		r.Intervals = []Interval{}
	}
}
