package requests

import (
	"bytes"
	"errors"
	"fmt"
	"mime/multipart"
	"path/filepath"
	"strings"
)

// Body is the body of the requests: at most one of Text, File and Form.
type Body struct {
	Text string   // with values
	File string   // the path of a file; with values if there are Data
	Form []string // fields of a multipart form, name=value or name=@path; values may have columns
}

// Given reports whether there is a body.
func (b *Body) Given() bool { return b.Text != "" || b.File != "" || len(b.Form) > 0 }

// parse returns the template of the body and its Content-Type, which is empty if the body
// doesn't determine it.
func (b *Body) parse(data *Data) (t template, contentType string, err error) {
	switch {
	case len(b.Form) > 0:
		return parseForm(b.Form, data)
	case b.File != "":
		text, err := readFile(b.File)
		if err != nil {
			return nil, "", fmt.Errorf("--body-file: %w", err)
		}
		if data == nil {
			return literal(string(text)), "", nil
		}
		t, err = parse(string(text), b.File, inBody, data)
		return t, "", err
	}
	t, err = parse(b.Text, "--body", inBody, data)
	return t, "", err
}

// parseForm returns the template of a multipart form (RFC 7578).
func parseForm(form []string, data *Data) (template, string, error) {
	var t template
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	flush := func() {
		t = t.add(piece{literal: b.String(), column: -1})
		b.Reset()
	}
	for _, field := range form {
		value, err := formPart(w, field, data)
		if err != nil {
			return nil, "", fmt.Errorf("--form: %w", err)
		}
		flush() // the head of the part
		for _, p := range value {
			t = t.add(p)
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	flush()
	return t, w.FormDataContentType(), nil
}

// formPart begins the part for a field, and returns its value.
func formPart(w *multipart.Writer, field string, data *Data) (template, error) {
	name, value, ok := strings.Cut(field, "=")
	if !ok || name == "" {
		return nil, errors.New("write name=value, or name=@path for a file")
	}
	path, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		t, err := parse(value, "the field "+name, inBody, data)
		if err != nil {
			return nil, err
		}
		_, err = w.CreateFormField(name)
		return t, err
	}
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	_, err = w.CreateFormFile(name, filepath.Base(path))
	return literal(string(text)), err
}
