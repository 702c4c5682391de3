package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/cmd/gale/internal/upload"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/static"
)

// put stores the body of the request as the file name (RFC 9110 section 9.3.4).
func (u *uploads) put(ctx *gale.RequestCtx, dir *upload.Folder, name string) error {
	existing, err := u.lookup(dir, name)
	if err != nil {
		return err
	}
	conditions := readConditions(ctx, func() []byte { return dir.Tag(name) })
	if err := conditions.check(existing); err != nil {
		return err
	}
	length := door.ContentLength(&ctx.Request.Header)
	if length > u.max {
		return u.tooLarge()
	}
	part, err := u.create(dir)
	if err != nil {
		return err
	}
	defer u.discard(part)
	if length > 0 {
		if err := part.Expect(length); err != nil {
			return diskRefusal(err)
		}
	}
	if err := u.store(part, u.body(ctx)); err != nil {
		return err
	}
	// Without overwriting, a file that appeared in the meantime is a conflict as before.
	replaced, err := part.Publish(name, u.overwrite, conditions.check)
	if err != nil {
		return publishRefusal(err)
	}
	ctx.SetStatusCode(gale.StatusCreated)
	if replaced {
		ctx.SetStatusCode(gale.StatusOK)
	}
	ctx.Response.Header.SetBytesV(gale.HeaderLocation, static.AppendEscapedPath(nil, ctx.Path()))
	setJSON(ctx, stored{name, part.Size()})
	return nil
}

func publishRefusal(err error) error {
	if r := new(refusal); errors.As(err, &r) {
		return err
	}
	return diskRefusal(err)
}

func (u *uploads) tooLarge() error {
	limit := size(u.max)
	return refuse(gale.StatusRequestEntityTooLarge, "the file is larger than "+limit.String()+", which is the limit of this server (-upload-max)")
}

// store copies from to part, and finishes it.
func (u *uploads) store(part *upload.Part, from io.Reader) error {
	buf := make([]byte, uploadBuffer)
	for {
		n, err := fill(from, buf)
		if part.Size()+int64(n) > u.max {
			return u.tooLarge()
		}
		if n > 0 {
			if _, err := part.Write(buf[:n]); err != nil {
				return diskRefusal(err)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return bodyRefusal(err)
		}
	}
	if err := part.Finish(); err != nil {
		return diskRefusal(err)
	}
	return nil
}

// fill reads until buf is full, or r ends or fails. Unlike io.ReadFull it returns the
// error of r as it is: a body that broke off must differ from one that ended.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}

// bodyRefusal answers for a body that can't be read.
func bodyRefusal(err error) error {
	if r := new(refusal); errors.As(err, &r) {
		return err
	}
	if errors.Is(err, gale.ErrTimeout) {
		return &refusal{gale.StatusRequestTimeout, "the upload is too slow, or it has stopped", err}
	}
	return &refusal{gale.StatusBadRequest, "the upload broke off or is malformed: nothing was stored", err}
}

// uploadBody is the body of a request. A client that sends less than uploadProgress bytes
// in a period is too slow.
type uploadBody struct {
	ctx    *gale.RequestCtx
	r      io.Reader
	period time.Duration
	recent int64 // bytes since the deadline was set
	// In a form, extra counts the bytes that aren't a part of files, or not yet. maxExtra is
	// their limit, 0 for none.
	extra, maxExtra int64
	last            *formEnd // looks for the end of a form; nil outside of forms
	err             error    // of reading, io.EOF at the end
}

func (u *uploads) body(ctx *gale.RequestCtx) *uploadBody {
	b := &uploadBody{ctx: ctx, r: ctx.RequestBodyStream(), period: u.period}
	if b.r == nil {
		b.r = bytes.NewReader(nil)
	}
	b.extend()
	return b
}

func (b *uploadBody) extend() {
	b.recent = 0
	_ = b.ctx.SetReadDeadline(time.Now().Add(b.period))
}

func (b *uploadBody) Read(p []byte) (int, error) {
	if b.maxExtra > 0 && b.extra >= b.maxExtra {
		b.err = refuse(gale.StatusRequestEntityTooLarge, "the form contains too much besides files: send files in fields called "+formField)
		return 0, b.err
	}
	n, err := b.r.Read(p)
	b.err = err
	if b.last != nil {
		b.last.look(p[:n])
	}
	b.extra += int64(n)
	if b.recent += int64(n); b.recent >= uploadProgress {
		b.extend()
	}
	return n, err
}

// refusal answers for the error of reading a form. Package multipart doesn't wrap errors,
// so the one of the body counts if it has one.
func (b *uploadBody) refusal(err error) error {
	if b.err != nil && b.err != io.EOF {
		err = b.err
	}
	return bodyRefusal(err)
}

// formEnd looks for the delimiter that ends a form. Package multipart also accepts a form
// without it.
type formEnd struct {
	want  []byte
	tail  []byte // of what was read, shorter than want
	found bool
}

func newFormEnd(boundary string) *formEnd { return &formEnd{want: []byte("\n--" + boundary + "--")} }

func (f *formEnd) look(p []byte) {
	if f.found {
		return
	}
	keep := len(f.want) - 1
	f.tail = append(f.tail, p[:min(len(p), keep)]...)
	f.found = bytes.Contains(f.tail, f.want) || bytes.Contains(p, f.want)
	if len(p) >= keep {
		f.tail = append(f.tail[:0], p[len(p)-keep:]...)
	} else if n := len(f.tail) - keep; n > 0 {
		f.tail = append(f.tail[:0], f.tail[n:]...)
	}
}

// Limits of forms.
const (
	maxFormFiles = 100
	maxFormExtra = 1 << 20 // bytes that aren't a part of files
	formField    = "file"
)

// formFile is a file of a form.
type formFile struct {
	part *upload.Part
	name string
}

// post stores the files of a form (RFC 7578). They get their names when the whole form has
// arrived. If it breaks off, none is stored.
func (u *uploads) post(ctx *gale.RequestCtx, dir *upload.Folder) error {
	kind, params, err := mime.ParseMediaType(string(ctx.Request.Header.ContentType()))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return refuse(gale.StatusUnsupportedMediaType, "send a form of the type multipart/form-data, or the file itself with PUT")
	}
	var files []formFile
	defer func() {
		for _, f := range files {
			u.discard(f.part)
		}
	}()
	body := u.body(ctx)
	body.maxExtra = maxFormExtra
	body.last = newFormEnd(params["boundary"])
	form := multipart.NewReader(body, params["boundary"])
	for {
		part, err := form.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return body.refusal(err)
		}
		name, ok, err := formFileName(part)
		if err != nil {
			return err
		}
		if !ok {
			continue // NextRawPart reads to its end
		}
		if err := u.checkFormFile(dir, name, files); err != nil {
			return aboutFile(err, name)
		}
		f, err := u.create(dir)
		if err != nil {
			return err
		}
		files = append(files, formFile{f, name})
		if err := u.store(f, &formFileBody{part, body}); err != nil {
			return aboutFile(err, name)
		}
	}
	// What comes after the form counts, too: without it the request isn't complete.
	if _, err := io.Copy(io.Discard, body); err != nil {
		return body.refusal(err)
	}
	if !body.last.found {
		return bodyRefusal(io.ErrUnexpectedEOF)
	}
	if len(files) == 0 {
		return refuse(gale.StatusBadRequest, "the form has no file: choose one")
	}
	return u.publish(ctx, files)
}

// aboutFile says which file of a form a refusal is about.
func aboutFile(err error, name string) error {
	if r := new(refusal); errors.As(err, &r) {
		return &refusal{r.status, strconv.Quote(name) + ": " + r.text, r.cause}
	}
	return err
}

// formFileName returns the name of the file that a part of a form contains. ok is false if
// it is no file, or if the user has chosen none.
func formFileName(part *multipart.Part) (name string, ok bool, err error) {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return "", false, refuse(gale.StatusBadRequest, "a part of the form has no valid Content-Disposition")
	}
	// Part.FileName would remove folders from the name.
	if params["name"] != formField || params["filename"] == "" {
		return "", false, nil
	}
	switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) {
	case "", "binary", "8bit", "7bit":
		return params["filename"], true, nil
	}
	return "", false, refuse(gale.StatusUnsupportedMediaType, "the file is encoded: send it without Content-Transfer-Encoding")
}

// checkFormFile refuses a file of a form before it is read.
func (u *uploads) checkFormFile(dir *upload.Folder, name string, before []formFile) error {
	if len(before) == maxFormFiles {
		return refuse(gale.StatusRequestEntityTooLarge, "the form has too many files: send fewer at a time")
	}
	if err := u.rules.CheckName(name); err != nil {
		return refuse(gale.StatusBadRequest, err.Error()+": rename the file")
	}
	if slices.ContainsFunc(before, func(f formFile) bool { return f.name == name }) {
		return refuse(gale.StatusBadRequest, "two files of the form have the same name: rename one")
	}
	_, err := u.lookup(dir, name)
	return err
}

// formFileBody reads a file of a form. Its bytes don't count as extra ones.
type formFileBody struct {
	part *multipart.Part
	body *uploadBody
}

func (f *formFileBody) Read(p []byte) (int, error) {
	n, err := f.part.Read(p)
	f.body.extra -= int64(n)
	if err != nil && err != io.EOF {
		err = f.body.refusal(err)
	}
	return n, err
}

// publish gives the files of a form their names.
func (u *uploads) publish(ctx *gale.RequestCtx, files []formFile) error {
	done := make([]stored, 0, len(files))
	for _, f := range files {
		_, err := f.part.Publish(f.name, u.overwrite, func(fs.FileInfo) error { return nil })
		if err != nil {
			r := new(refusal)
			errors.As(publishRefusal(err), &r)
			if len(done) > 0 {
				r.text += "; the files before it were stored"
			}
			return aboutFile(r, f.name)
		}
		done = append(done, stored{f.name, f.part.Size()})
	}
	if !wantsJSON(ctx) {
		ctx.SetStatusCode(gale.StatusSeeOther)
		ctx.Response.Header.SetBytesV(gale.HeaderLocation, static.AppendEscapedPath(nil, ctx.Path()))
		return nil
	}
	ctx.SetStatusCode(gale.StatusCreated)
	setJSON(ctx, struct {
		Files []stored `json:"files"`
	}{done})
	return nil
}

// uploadPath returns the decoded segments of the request's path. The last one is empty if
// the path ends in a slash. It refuses a path that isn't in its simplest form, because two
// readers could understand it differently.
func uploadPath(ctx *gale.RequestCtx) ([]string, error) {
	malformed := refuse(gale.StatusBadRequest, "the address is malformed: it can't contain empty segments, . or .., or encoded slashes")
	raw, ok := strings.CutPrefix(string(ctx.URI().PathOriginal()), "/")
	if !ok {
		return nil, malformed
	}
	segments := strings.Split(raw, "/")
	for i, s := range segments {
		s, err := url.PathUnescape(s)
		if err != nil || s == "" && i < len(segments)-1 || s == "." || s == ".." || strings.ContainsAny(s, "/\\\x00") {
			return nil, malformed
		}
		segments[i] = s
	}
	if "/"+strings.Join(segments, "/") != string(ctx.Path()) {
		return nil, malformed
	}
	return segments, nil
}

// uploadConditions are the conditions of a PUT (RFC 9110 section 13).
type uploadConditions struct {
	static.Conditions
	tag func() []byte // of the file that exists
}

func readConditions(ctx *gale.RequestCtx, tag func() []byte) *uploadConditions {
	h := &ctx.Request.Header
	c := &uploadConditions{tag: tag}
	for _, v := range h.PeekAll(gale.HeaderIfMatch) {
		c.IfMatch = append(c.IfMatch, bytes.Clone(v))
	}
	for _, v := range h.PeekAll(gale.HeaderIfNoneMatch) {
		c.IfNoneMatch = append(c.IfNoneMatch, bytes.Clone(v))
	}
	c.IfUnmodifiedSince = bytes.Clone(h.Peek(gale.HeaderIfUnmodifiedSince))
	return c
}

// check evaluates the conditions for the file that exists, or nil.
func (c *uploadConditions) check(existing fs.FileInfo) error {
	if existing == nil {
		if len(c.IfMatch) > 0 {
			return refuse(gale.StatusPreconditionFailed, "there is no file of that name, and If-Match asks for one")
		}
		return nil
	}
	v := static.Validators{ModTime: existing.ModTime()}
	if len(c.IfMatch)+len(c.IfNoneMatch) > 0 {
		v.ETag = c.tag()
	}
	if c.Evaluate(v) == static.Failed {
		return refuse(gale.StatusPreconditionFailed, "the file that has that name isn't the one that the request may replace")
	}
	return nil
}

// wantsJSON reports whether the client asks for JSON.
func wantsJSON(ctx *gale.RequestCtx) bool {
	for _, v := range ctx.Request.Header.PeekAll(gale.HeaderAccept) {
		if bytes.Contains(v, []byte("application/json")) {
			return true
		}
	}
	return false
}

func setJSON(ctx *gale.RequestCtx, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the types have only strings and numbers
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(append(b, '\n'))
}
