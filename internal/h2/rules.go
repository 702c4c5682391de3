package h2

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/hpack"
	"github.com/galehttp/gale/internal/msg"
)

// connectionFields are those that concern a connection of HTTP/1 (RFC 9113 section 8.2.2).
const connectionFields uint64 = 1<<msg.Connection | 1<<msg.ProxyConnection | 1<<msg.KeepAlive |
	1<<msg.TransferEncoding | 1<<msg.Upgrade

// nameByte says which bytes a field name may have: those of tokens, without capital
// letters (RFC 9113 section 8.2.1).
var nameByte = func() (t [256]bool) {
	for c := range t {
		t[c] = bytesconv.Token[c] && (c < 'A' || c > 'Z')
	}
	return t
}()

func validName(b []byte) bool {
	for _, c := range b {
		if !nameByte[c] {
			return false
		}
	}
	return len(b) > 0
}

// validValue reports whether b has no control characters except HTAB, and no
// whitespace at its ends (RFC 9113 section 8.2.1).
func validValue(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	first, last := b[0], b[len(b)-1]
	return first > ' ' && last > ' ' && bytesconv.IsText(b)
}

// checkField checks name and value of a field that isn't a pseudo-field.
func checkField(f *hpack.Field, arena []byte) *Error {
	if f.ID == msg.Unknown && !validName(arena[f.NameOff:f.NameOff+f.NameLen]) {
		return ErrFieldName
	}
	if !validValue(arena[f.ValOff : f.ValOff+f.ValLen]) {
		return ErrFieldValue
	}
	return nil
}

// fieldLimit counts the fields and the size of a field section while it is decoded.
type fieldLimit struct{ fields, list int }

// add counts a field, and returns the error of a limit that is exceeded, or nil.
func (l *fieldLimit) add(f *hpack.Field, cfg *Config) *Error {
	l.fields++
	l.list += int(f.NameLen) + int(f.ValLen) + hpack.EntryOverhead
	switch {
	case l.list > cfg.HeaderList || f.NameLen > msg.MaxNameLen:
		return ErrHeadTooLong
	case l.fields > cfg.Fields:
		return ErrTooManyFields
	}
	return nil
}
