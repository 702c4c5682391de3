package gale

import (
	"io"
	"maps"
	"math"
	"mime/multipart"
	"net/textproto"
	"os"
	"slices"
)

// WriteMultipartForm writes f to w as a body of media type multipart/form-data (RFC 7578)
// with the given boundary. It writes the fields and then the files, each in the order of
// their names. The boundary must not be empty.
func WriteMultipartForm(w io.Writer, f *multipart.Form, boundary string) error {
	if boundary == "" {
		return newBareError("form boundary cannot be empty")
	}
	mw := multipart.NewWriter(w)
	if err := mw.SetBoundary(boundary); err != nil {
		return errorf("cannot use form boundary %q: %w", boundary, err)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Value)) {
		for _, v := range f.Value[name] {
			if err := mw.WriteField(name, v); err != nil {
				return errorf("cannot write form field %q value %q: %w", name, v, err)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.File)) {
		for _, fh := range f.File[name] {
			if err := writeFormFile(mw, name, fh); err != nil {
				return err
			}
		}
	}
	if err := mw.Close(); err != nil {
		return errorf("error when closing multipart form writer: %w", err)
	}
	return nil
}

func writeFormFile(mw *multipart.Writer, name string, fh *multipart.FileHeader) error {
	part, err := mw.CreatePart(partHeader(name, fh))
	if err != nil {
		return errorf("cannot create form file %q (%q): %w", name, fh.Filename, err)
	}
	file, err := fh.Open()
	if err != nil {
		return errorf("cannot open form file %q (%q): %w", name, fh.Filename, err)
	}
	defer file.Close()
	if _, err := copyStream(part, file, math.MaxInt64); err != nil {
		return errorf("error when copying form file %q (%q): %w", name, fh.Filename, err)
	}
	return nil
}

// partHeader returns the header of a file's part: the received one or, for a file header
// that the program made, one with the required fields.
func partHeader(name string, fh *multipart.FileHeader) textproto.MIMEHeader {
	h := fh.Header
	if h.Get(HeaderContentDisposition) == "" {
		h = maps.Clone(h)
		if h == nil {
			h = textproto.MIMEHeader{}
		}
		h.Set(HeaderContentDisposition, multipart.FileContentDisposition(name, fh.Filename))
	}
	return h
}

// SaveMultipartFile copies an uploaded file to path and replaces a file that is there. It
// uses path unchanged, so don't build it from fh.Filename, which the client chose. If the
// copy fails, the incomplete file is removed.
func SaveMultipartFile(fh *multipart.FileHeader, path string) (err error) {
	src, err := fh.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if closeErr := dst.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}
