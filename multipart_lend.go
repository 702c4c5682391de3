package gale

import (
	"mime/multipart"
	"reflect"

	"github.com/galehttp/gale/internal/lifetime"
)

// lendFiles moves the contents of the files of f that are in memory to memory of l. So a
// header or a file that the program keeps has no contents when the loan has ended.
func lendFiles(l *lifetime.Loan, f *multipart.Form) {
	for _, b := range contents(f) {
		if len(*b) > 0 {
			*b = append(l.Alloc(len(*b)), *b...)
		}
	}
}

// hideFiles is called at the end of the loan l, when the files of f on disk are removed. If
// the loan has pages, opening them gives memory of the loan, so that reading it is
// reported. Without pages, opening them is an error.
func hideFiles(l *lifetime.Loan, f *multipart.Form) {
	if !l.Guard().HasPages() {
		return
	}
	for _, b := range contents(f) {
		if *b == nil {
			*b = l.Alloc(1)[:1]
		}
	}
}

// contents returns what the headers of f have as the contents of their files, nil for a
// file on disk. Package multipart has no method for that. The result is empty if a
// FileHeader has no such field.
func contents(f *multipart.Form) (all []*[]byte) {
	for _, of := range f.File {
		for _, fh := range of {
			field := reflect.ValueOf(fh).Elem().FieldByName("content")
			if !field.IsValid() || field.Type() != reflect.TypeOf([]byte(nil)) {
				return nil
			}
			b, _ := reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Interface().(*[]byte)
			all = append(all, b)
		}
	}
	return all
}
