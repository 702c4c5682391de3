package gale

import (
	"math/rand/v2"
	"time"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/static"
)

// respondRanges answers a request for ranges of e and tells if it did: without
// a Range field, or where the field is to be ignored, it leaves e to the caller.
//
// HEAD gets what GET would have got for one range. The RFC defines ranges for
// GET alone (RFC 9110 section 14.2), yet clients ask this way how much will come.
func (h *fsHandler) respondRanges(ctx *RequestCtx, e *fsEntry, head bool) bool {
	field := ctx.Request.Header.Peek(HeaderRange)
	if len(field) == 0 || e.coding != compress.Identity {
		return false
	}
	if !static.RangeHolds(ctx.Request.Header.Peek(HeaderIfRange), e.valid, time.Now()) {
		return false
	}
	var buf [4]static.Range
	rs, verdict := static.ParseRanges(buf[:0], field, e.size, h.maxRanges)
	switch {
	case verdict == static.RangeUnsatisfiable:
		size := e.size
		e.Release()
		ctx.Error("Range Not Satisfiable", StatusRequestedRangeNotSatisfiable)
		var val [40]byte
		ctx.Response.Header.SetBytesV(HeaderContentRange, static.AppendUnsatisfied(val[:0], size))
		return true
	case verdict != static.RangePartial, len(rs) > 1 && (head || e.reopen != ""):
		return false
	}
	if len(rs) > 1 {
		h.respondParts(ctx, e, append([]static.Range(nil), rs...))
		return true
	}
	var val [64]byte
	ctx.Response.Header.SetBytesV(HeaderContentRange, static.AppendContentRange(val[:0], rs[0], e.size))
	ctx.SetStatusCode(StatusPartialContent)
	h.setBody(ctx, e, rs[0], head)
	return true
}

// respondParts answers with several ranges as multipart/byteranges.
func (h *fsHandler) respondParts(ctx *RequestCtx, e *fsEntry, rs []static.Range) {
	frame := static.Multipart{
		Boundary:    static.NewBoundary(rand.Uint64(), rand.Uint64()),
		ContentType: e.contentType,
		Size:        e.size,
	}
	resp := &ctx.Response
	resp.SetStatusCode(StatusPartialContent)
	resp.Header.SetContentType("multipart/byteranges; boundary=" + frame.Boundary)
	n := frame.Len(rs)
	if e.file != nil {
		setStream(resp, newPartsBody(e.file, frame, rs), n)
		return
	}
	body := make([]byte, 0, n)
	for i, r := range rs {
		body = frame.AppendPartHead(body, r, i == 0)
		body = append(body, e.data[r.Start:r.Start+r.Length]...)
	}
	resp.SetBodyRaw(frame.AppendEnd(body))
}
