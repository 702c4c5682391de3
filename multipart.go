package gale

import (
	"cmp"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"mime/multipart"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// SaveMultipartFile copies an uploaded file to path. It uses path unchanged, so don't build it
// from fh.Filename, which the client chose.
//
// A file that is there is replaced when the copy is complete: the copy is written to a new file
// in the same folder, which needs the right to make files there, and renamed. After an error the
// old file is as before. The copy has the permissions of the old file, and no other attributes of
// it, or those of a file that os.Create makes. If path is a symbolic link, the file that it leads
// to is replaced. A device or a pipe is written to.
func SaveMultipartFile(fh *multipart.FileHeader, path string) error {
	src, err := fh.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	old, err := os.Stat(path)
	if err == nil && !old.Mode().IsRegular() {
		dst, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = io.Copy(dst, src)
		return cmp.Or(err, dst.Close())
	}
	return replaceFile(path, src, old)
}

// replaceFile makes what src has the file at path. old is the file that is there, or nil.
func replaceFile(path string, src io.Reader, old fs.FileInfo) error {
	tmp := filepath.Join(filepath.Dir(path), ".gale-"+strconv.FormatUint(rand.Uint64(), 36)+".tmp")
	dst, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil && old != nil {
		err = dst.Sync() // a loss of power must not leave the name without the content
	}
	if err == nil && old != nil {
		err = dst.Chmod(old.Mode().Perm())
	}
	if err = cmp.Or(err, dst.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
	}
	return err
}
