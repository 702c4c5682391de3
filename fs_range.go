package gale

import (
	"bytes"
	"math/rand/v2"
	"time"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/static"
)

// respondRanges answers a request for ranges of e and reports whether it did.
// Without a Range header, or if the header must be ignored, it leaves e to the
// caller.
func (h *fsHandler) respondRanges(ctx *RequestCtx, e *static.Entry) bool {
	field := ctx.Request.Header.Peek(HeaderRange)
	if len(field) == 0 || e.Coding != compress.Identity {
		return false
	}
	if !static.RangeHolds(ctx.Request.Header.Peek(HeaderIfRange), e.Valid, time.Now()) {
		return false
	}
	var buf [4]static.Range
	rs, verdict := static.ParseRanges(buf[:0], field, e.Size, h.maxRanges)
	switch {
	case verdict == static.RangeUnsatisfiable:
		size := e.Size
		e.Release()
		ctx.Error("Range Not Satisfiable", StatusRequestedRangeNotSatisfiable)
		var val [40]byte
		ctx.Response.Header.SetBytesV(HeaderContentRange, static.AppendUnsatisfied(val[:0], size))
		return true
	case verdict != static.RangePartial, len(rs) > 1 && e.Reopen != "":
		return false
	}
	if len(rs) > 1 {
		h.respondParts(ctx, e, append([]static.Range(nil), rs...))
		return true
	}
	var val [64]byte
	ctx.Response.Header.SetBytesV(HeaderContentRange, static.AppendContentRange(val[:0], rs[0], e.Size))
	ctx.SetStatusCode(StatusPartialContent)
	h.setBody(ctx, e, rs[0], false)
	return true
}

// respondParts answers with several ranges as multipart/byteranges.
func (h *fsHandler) respondParts(ctx *RequestCtx, e *static.Entry, rs []static.Range) {
	frame := static.Multipart{
		Boundary:    static.NewBoundary(rand.Uint64(), rand.Uint64()),
		ContentType: e.ContentType,
		Size:        e.Size,
	}
	resp := &ctx.Response
	resp.SetStatusCode(StatusPartialContent)
	resp.Header.SetContentType("multipart/byteranges; boundary=" + frame.Boundary)
	n := frame.Len(rs)
	if e.File != nil {
		setStream(resp, newPartsBody(e.File, frame, rs), n)
		return
	}
	body := make([]byte, 0, n)
	for i, r := range rs {
		body = frame.AppendPartHead(body, r, i == 0)
		body = append(body, e.Data[r.Start:r.Start+r.Length]...)
	}
	resp.SetBodyRaw(frame.AppendEnd(body))
}

func parseByteRange(field []byte, size int) (start, end int, err error) {
	const unit = "bytes"
	if !bytes.HasPrefix(field, []byte(unit)) {
		return 0, 0, errorf("unsupported range units: %q: expecting %q", field, unit)
	}
	set := field[len(unit):]
	if len(set) == 0 || set[0] != '=' {
		return 0, 0, errorf("missing byte range in %q", field)
	}
	set = set[1:]
	dash := bytes.IndexByte(set, '-')
	if dash < 0 {
		return 0, 0, errorf("missing the end position of byte range in %q", field)
	}
	if dash == 0 {
		return parseSuffixRange(field, set[1:], size)
	}
	if start, err = parsePosition(set[:dash]); err != nil {
		return 0, 0, err
	}
	if start >= size {
		return 0, 0, errorf("the start position of byte range cannot exceed %d. byte range %q", size-1, field)
	}
	if dash+1 == len(set) {
		return start, size - 1, nil
	}
	if end, err = parsePosition(set[dash+1:]); err != nil {
		return 0, 0, err
	}
	end = min(end, size-1)
	if start > end {
		return 0, 0, errorf("the start position of byte range cannot exceed the end position. byte range %q", field)
	}
	return start, end, nil
}

func parseSuffixRange(field, suffix []byte, size int) (start, end int, err error) {
	n, err := parsePosition(suffix)
	if err != nil {
		return 0, 0, err
	}
	if n == 0 {
		return 0, 0, errorf("suffix length in byte range %q must be greater than zero", field)
	}
	if size <= 0 {
		return 0, 0, errorf("byte range %q is invalid for empty content", field)
	}
	return max(size-n, 0), size - 1, nil
}

func parsePosition(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, errEmptyInt
	}
	n, err := bytesconv.ParseUint(b)
	if err != nil {
		return 0, errTrailingChar
	}
	return n, nil
}
