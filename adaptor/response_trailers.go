package adaptor

import (
	"net/http"
	"slices"
	"strings"

	"github.com/galehttp/gale"
)

// declareTrailers declares the names in the handler's Trailer fields. Fields that are
// forbidden in a trailer section (RFC 9110 section 6.5.1) are sent in the header.
func (w *response) declareTrailers(h *gale.ResponseHeader, lists []string) {
	for _, list := range lists {
		more := true
		for name := ""; more; {
			name, list, more = strings.Cut(list, ",")
			name = http.CanonicalHeaderKey(strings.Trim(name, " \t"))
			if name == "" || h.AddTrailer(name) != nil {
				continue
			}
			if w.late == nil {
				w.late = newNameList()
			}
			w.late.names = append(w.late.names, name)
		}
	}
}

// setTrailers adds the values of trailer fields: of those that were declared, and of
// those whose names begin with http.TrailerPrefix.
func (w *response) setTrailers() {
	if !w.trails || w.onlyType && len(w.head) == 1 && has(w.head, "Content-Type") {
		return
	}
	h := &w.ctx.Response.Header
	var prefixed, announced []string
	for k, values := range w.head {
		if k == "Trailer" {
			announced = values
		} else if strings.HasPrefix(k, http.TrailerPrefix) {
			prefixed = append(prefixed, k)
		}
	}
	slices.Sort(prefixed)
	for _, k := range prefixed {
		for _, v := range w.head[k] {
			_ = h.AddTrailerValue(k[len(http.TrailerPrefix):], v)
		}
	}
	for _, k := range w.late.all() {
		for _, v := range w.head[k] {
			h.Add(k, v)
		}
	}
	if !w.flushed {
		w.addLateFields(h, announced)
	}
}

// addLateFields adds fields to the header, which is not sent yet, that were declared as
// trailers after the first write, when it was too late for a trailer section.
func (w *response) addLateFields(h *gale.ResponseHeader, lists []string) {
	for _, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			name = http.CanonicalHeaderKey(strings.Trim(name, " \t"))
			switch name {
			case "Content-Length", "Transfer-Encoding", "Trailer":
				continue
			}
			if w.late.has(name) || len(h.Peek(name)) > 0 {
				continue
			}
			w.setField(h, field{name, name, w.head[name]}, false)
		}
	}
}
