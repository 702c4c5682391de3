package h2

// Priority says how a response is sent in relation to others (RFC 9218 section 4).
type Priority struct {
	// Urgency is 0 (first) to 7.
	Urgency uint8
	// Incremental says that the client can use parts of the response. Incremental
	// responses of the same urgency share the connection.
	Incremental bool
}

// DefaultPriority is the priority of a stream without a Priority field (RFC 9218
// sections 4.1, 4.2).
var DefaultPriority = Priority{Urgency: 3}

// earlyPriorities are the priorities of PRIORITY_UPDATE frames for streams that
// were not opened yet.
type earlyPriorities []earlyPriority

type earlyPriority struct {
	stream uint32
	prio   Priority
}

// set stores p for a stream, unless most others are stored already.
func (e *earlyPriorities) set(stream uint32, p Priority, most int) {
	for i := range *e {
		if (*e)[i].stream == stream {
			(*e)[i].prio = p
			return
		}
	}
	if len(*e) < most {
		*e = append(*e, earlyPriority{stream, p})
	}
}

// take returns and removes the stored priority of a stream that is opened. It also
// removes those of lower streams, which will never be opened.
func (e *earlyPriorities) take(stream uint32) (p Priority, ok bool) {
	kept := (*e)[:0]
	for _, x := range *e {
		if x.stream == stream {
			p, ok = x.prio, true
		} else if x.stream > stream {
			kept = append(kept, x)
		}
	}
	if *e = kept; len(kept) == 0 {
		*e = nil
	}
	return p, ok
}

// maxEarly is how many priorities of future streams are stored.
const maxEarly = 64

// priorityUpdate handles PRIORITY_UPDATE (RFC 9218 section 7.1).
func (c *Conn) priorityUpdate(b []byte) {
	c.peer.prioritized = true
	id := dependency(b)
	switch {
	case id%2 == 0, c.client: // only clients send it
		c.fail(ProtocolError)
	case !c.odd(1) || c.read.left > 0: // no field is that long
	case id > c.last:
		c.early.set(id, ParsePriority(DefaultPriority, b[4:]), min(maxEarly, c.cfg.Streams))
	default:
		if st := c.streams.find(id); st != nil {
			st.state |= updated
			c.turns.setPriority(st, ParsePriority(DefaultPriority, b[4:]))
		}
	}
}

// ParsePriority returns p with the changes in the value of a Priority field (RFC
// 9218 section 4), a dictionary of RFC 9651. Parameters that are unknown, out of
// range or of the wrong type are ignored. A value that isn't a dictionary is
// ignored completely.
func ParsePriority(p Priority, value []byte) Priority {
	old := p
	s := sfScanner{b: value}
	s.spaces()
	for s.i < len(s.b) {
		key := s.key()
		if key == nil {
			return old
		}
		item := sfItem{kind: sfBool, n: 1}
		if s.next('=') {
			item = s.member()
		}
		s.parameters()
		if s.bad {
			return old
		}
		switch {
		case string(key) == "u" && item.kind == sfInteger && item.n >= 0 && item.n <= 7:
			p.Urgency = uint8(item.n)
		case string(key) == "i" && item.kind == sfBool:
			p.Incremental = item.n == 1
		}
		if !s.comma() {
			return old
		}
	}
	return p
}
