package wsframe

import (
	"strconv"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Names of RFC 7692 section 7.
const (
	deflateName      = "permessage-deflate"
	serverNoTakeover = "server_no_context_takeover"
	clientNoTakeover = "client_no_context_takeover"
	serverWindowBits = "server_max_window_bits"
	clientWindowBits = "client_max_window_bits"
)

// minBits and maxBits are the limits of a window's size, as binary logarithms of bytes.
const (
	minBits = 8
	maxBits = 15
)

// Deflate is what both sides agreed on about the compression of messages (RFC 7692).
type Deflate struct {
	// On says that messages may be compressed. Otherwise the other fields don't matter.
	On bool
	// ServerNoTakeover and ClientNoTakeover say that this side begins each message with an
	// empty window.
	ServerNoTakeover, ClientNoTakeover bool
	// ServerBits and ClientBits are the binary logarithms of the windows that the sides
	// compress with, 8 to 15.
	ServerBits, ClientBits uint8

	namesServerBits bool // the response must have server_max_window_bits, even if it is 15
	offeredClient   bool // the response may have client_max_window_bits
}

// DeflateOptions is what one side wants of the compression of messages.
type DeflateOptions struct {
	// ServerTakeover and ClientTakeover let this side of the connection keep its window from
	// message to message. That compresses better and costs both peers the memory of the
	// window, for as long as the connection lives.
	ServerTakeover, ClientTakeover bool
	// ServerBits and ClientBits are the binary logarithms of the largest windows in bytes
	// that the sides may compress with, 8 to 15. 0 is 15.
	ServerBits, ClientBits uint8
}

// bits returns the size of a window that the options ask for.
func windowBits(b uint8) uint8 {
	if b == 0 {
		return maxBits
	}
	return min(max(b, minBits), maxBits)
}

// offer is one permessage-deflate with its parameters.
type offer struct {
	serverNoTakeover, clientNoTakeover bool
	hasServerBits, hasClientBits       bool
	serverBits, clientBits             uint8 // 0: the parameter has no value
}

// read reads the parameters of the current extension of e. ok says whether each is known,
// comes once and has a valid value (RFC 7692 section 7.1).
func (o *offer) read(e *extensions) (ok bool) {
	ok = true
	var scratch [32]byte
	for {
		name, value, hasValue := e.param(scratch[:0])
		if name == nil {
			return ok && !e.broken
		}
		ok = o.set(name, value, hasValue) && ok
	}
}

func (o *offer) set(name, value []byte, hasValue bool) (ok bool) {
	once := func(flag *bool) bool {
		before := *flag
		*flag = true
		return !before
	}
	switch {
	case bytesconv.EqualFoldString(name, serverNoTakeover):
		return once(&o.serverNoTakeover) && !hasValue
	case bytesconv.EqualFoldString(name, clientNoTakeover):
		return once(&o.clientNoTakeover) && !hasValue
	case bytesconv.EqualFoldString(name, serverWindowBits):
		o.serverBits = parseBits(value)
		return once(&o.hasServerBits) && o.serverBits != 0
	case bytesconv.EqualFoldString(name, clientWindowBits):
		o.clientBits = parseBits(value)
		return once(&o.hasClientBits) && (o.clientBits != 0 || !hasValue)
	}
	return false
}

// parseBits returns the value of a parameter for a window's size: 8 to 15 without leading
// zeros. Others give 0.
func parseBits(v []byte) uint8 {
	switch {
	case len(v) == 1 && (v[0] == '8' || v[0] == '9'):
		return v[0] - '0'
	case len(v) == 2 && v[0] == '1' && '0' <= v[1] && v[1] <= '5':
		return 10 + v[1] - '0'
	}
	return 0
}

// Negotiate returns a server's answer to a client's offers: all values of
// Sec-WebSocket-Extensions, in order. It accepts the first offer of permessage-deflate
// whose parameters are valid (RFC 7692 section 5), with windows not larger than both sides
// want and with takeover only where both allow it. All sizes of windows are supported. If
// On is false, the server declines: the response must not have the field then.
//
// An offer after a value that is broken isn't looked at, see [ValidExtensions].
func (o DeflateOptions) Negotiate(offers [][]byte) (d Deflate) {
	for _, v := range offers {
		e := extensions{rest: v}
		for name := e.next(); name != nil; name = e.next() {
			var f offer
			if f.read(&e) && bytesconv.EqualFoldString(name, deflateName) {
				return o.answer(&f)
			}
		}
		if e.broken {
			return Deflate{}
		}
	}
	return Deflate{}
}

// answer returns what a server makes of a valid offer.
func (o DeflateOptions) answer(f *offer) Deflate {
	d := Deflate{
		On:               true,
		ServerNoTakeover: f.serverNoTakeover || !o.ServerTakeover,
		ClientNoTakeover: f.clientNoTakeover || !o.ClientTakeover,
		ServerBits:       windowBits(o.ServerBits),
		ClientBits:       maxBits,
		namesServerBits:  f.hasServerBits,
		offeredClient:    f.hasClientBits,
	}
	if f.hasServerBits {
		d.ServerBits = min(d.ServerBits, f.serverBits)
	}
	if f.hasClientBits {
		// A server must not limit the window of a client that doesn't offer it.
		d.ClientBits = windowBits(o.ClientBits)
		if f.clientBits != 0 {
			d.ClientBits = min(d.ClientBits, f.clientBits)
		}
	}
	return d
}

// AppendResponse appends the value of Sec-WebSocket-Extensions of a server's response to
// dst and returns the extended dst. d must come from Negotiate and be On.
func (d Deflate) AppendResponse(dst []byte) []byte {
	dst = append(dst, deflateName...)
	if d.ServerNoTakeover {
		dst = append(dst, "; "+serverNoTakeover...)
	}
	if d.ClientNoTakeover {
		dst = append(dst, "; "+clientNoTakeover...)
	}
	if d.namesServerBits || d.ServerBits < maxBits {
		dst = append(dst, "; "+serverWindowBits+"="...)
		dst = strconv.AppendUint(dst, uint64(d.ServerBits), 10)
	}
	if d.offeredClient && d.ClientBits < maxBits {
		dst = append(dst, "; "+clientWindowBits+"="...)
		dst = strconv.AppendUint(dst, uint64(d.ClientBits), 10)
	}
	return dst
}

// AppendOffer appends the value of Sec-WebSocket-Extensions of a client's request to dst
// and returns the extended dst: one offer with what o wants.
func (o DeflateOptions) AppendOffer(dst []byte) []byte {
	dst = append(dst, deflateName...)
	if !o.ServerTakeover {
		dst = append(dst, "; "+serverNoTakeover...)
	}
	if !o.ClientTakeover {
		dst = append(dst, "; "+clientNoTakeover...)
	}
	if b := windowBits(o.ServerBits); b < maxBits {
		dst = append(dst, "; "+serverWindowBits+"="...)
		dst = strconv.AppendUint(dst, uint64(b), 10)
	}
	dst = append(dst, "; "+clientWindowBits...)
	if b := windowBits(o.ClientBits); b < maxBits {
		dst = append(dst, '=')
		dst = strconv.AppendUint(dst, uint64(b), 10)
	}
	return dst
}

// Accept returns what a server made of the offer of AppendOffer: values are all values of
// Sec-WebSocket-Extensions of its response. None, or only empty lists, mean that it
// declined. Anything that the offer doesn't allow is an error, an *Error: the connection
// must fail (RFC 7692 section 7.1).
func (o DeflateOptions) Accept(values [][]byte) (Deflate, error) {
	var d Deflate
	for _, v := range values {
		e := extensions{rest: v}
		for name := e.next(); name != nil; name = e.next() {
			var f offer
			if !f.read(&e) || d.On || !bytesconv.EqualFoldString(name, deflateName) || !o.allows(&f) {
				return Deflate{}, errExtensions
			}
			d = o.agreed(&f)
		}
		if e.broken {
			return Deflate{}, errExtensions
		}
	}
	return d, nil
}

// allows reports whether a valid answer is one to the offer.
func (o DeflateOptions) allows(f *offer) bool {
	if !o.ServerTakeover && !f.serverNoTakeover {
		return false
	}
	if b := windowBits(o.ServerBits); b < maxBits && (!f.hasServerBits || f.serverBits > b) {
		return false
	}
	return !f.hasClientBits || f.clientBits != 0 && f.clientBits <= windowBits(o.ClientBits)
}

// agreed returns what an allowed answer means.
func (o DeflateOptions) agreed(f *offer) Deflate {
	d := Deflate{
		On:               true,
		ServerNoTakeover: f.serverNoTakeover,
		ClientNoTakeover: f.clientNoTakeover || !o.ClientTakeover,
		ServerBits:       maxBits,
		ClientBits:       windowBits(o.ClientBits),
	}
	if f.hasServerBits {
		d.ServerBits = f.serverBits
	}
	if f.hasClientBits {
		d.ClientBits = f.clientBits
	}
	return d
}
