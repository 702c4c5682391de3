package hpack

import "github.com/galehttp/gale/internal/msg"

// Encoder encodes the field blocks of one direction of a connection. The zero value
// is ready for use and has a table of DefaultTableSize. It has no lock: only one
// goroutine may use it. All blocks must be sent, in the order in which they were
// made.
type Encoder struct {
	table table
	index index
	// target is the size of the table from the next block on, lowest its lowest
	// value since the last block.
	target, lowest int
	generation     uint32
	ready          bool // table, target and lowest are set
}

// Indexing says how a field may be encoded.
type Indexing uint8

// The values of Indexing.
const (
	// Auto uses the dynamic table for fields that may come again.
	Auto Indexing = iota
	// Once is for a field that won't come again: it doesn't enter the table.
	Once
	// Never is for secrets: the field is a never-indexed literal (RFC 7541 section 7.1.3).
	// Authorization, Proxy-Authorization, Cookie, Set-Cookie and short values of fields
	// whose name indicates a secret are always encoded so.
	Never
)

func (e *Encoder) prepare() {
	if !e.ready {
		e.table.max, e.target, e.lowest, e.ready = DefaultTableSize, DefaultTableSize, DefaultTableSize, true
	}
}

// SetMaxTableSize must be called with each SETTINGS_HEADER_TABLE_SIZE of the peer,
// in order, between blocks. The encoder uses at most that size, and at most
// DefaultTableSize.
func (e *Encoder) SetMaxTableSize(n int) {
	e.prepare()
	e.target = min(n, DefaultTableSize)
	e.lowest = min(e.lowest, e.target)
}

// Begin starts a field block. It appends table size updates if the size has changed
// since the last block: the lowest size, then the current one (RFC 7541 section
// 4.2).
func (e *Encoder) Begin(dst []byte) []byte {
	e.prepare()
	if e.lowest == e.table.max && e.target == e.table.max {
		return dst
	}
	if e.lowest < e.target {
		dst = e.appendSizeUpdate(dst, e.lowest)
	}
	dst = e.appendSizeUpdate(dst, e.target)
	e.lowest = e.target
	return dst
}

func (e *Encoder) appendSizeUpdate(dst []byte, n int) []byte {
	e.table.setMax(n)
	e.generation++
	return appendInteger(dst, 0x20, 0x1f, uint32(n))
}

// Generation changes with each change of the table. Bytes that were appended after
// Begin without a change of the table may be copied into a later block, if
// Generation is still the same after its Begin.
func (e *Encoder) Generation() uint32 { return e.generation }

// AppendStatus appends the :status field with a code of three digits.
func (e *Encoder) AppendStatus(dst []byte, code int) []byte {
	value := [3]byte{'0' + byte(code/100%10), '0' + byte(code/10%10), '0' + byte(code%10)}
	return e.AppendPseudo(dst, Status, value[:], Auto)
}

// AppendPseudo appends a pseudo-header field. p must be one of Method to Status.
func (e *Encoder) AppendPseudo(dst []byte, p Pseudo, value []byte, how Indexing) []byte {
	return e.append(dst, &fieldName{pseudo: p, static: staticByPseudo[p], text: pseudoNameBytes[p]}, value, how)
}

// AppendField appends a field. name is used only if id is Unknown, and must then be
// in lower case. name and value are not kept.
func (e *Encoder) AppendField(dst []byte, id msg.ID, name, value []byte, how Indexing) []byte {
	if id != msg.Unknown {
		return e.append(dst, &fieldName{id: id, static: staticByID[id], text: lowerNames[id]}, value, how)
	}
	// A secret must not be indexed even if the caller didn't look up its name.
	id, p := identify(name)
	n := fieldName{id: id, pseudo: p, text: name}
	switch {
	case id != msg.Unknown:
		n.static = staticByID[id]
	case p != NotPseudo:
		n.static = staticByPseudo[p]
	default:
		n.static = staticByName(name)
	}
	return e.append(dst, &n, value, how)
}

// fieldName is the name of a field that is encoded.
type fieldName struct {
	text   []byte
	id     msg.ID
	pseudo Pseudo
	static uint8 // the lowest index of the static table with the name, or 0
}

func (e *Encoder) append(dst []byte, n *fieldName, value []byte, how Indexing) []byte {
	if how == Never || secretIDs>>n.id&1 != 0 {
		return e.appendLiteral(dst, 0x10, 0x0f, uint32(n.static), n, value)
	}
	if n.static > 0 {
		if i := staticPair(n.static, value); i > 0 {
			return append(dst, 0x80|i)
		}
	}
	if n.neverEnters() {
		return e.appendLiteral(dst, 0, 0x0f, uint32(n.static), n, value)
	}
	hash := n.hash()
	pair := hashBytes(hash, value)
	if number, ok := e.index.findPair(&e.table, pair, n, value); ok {
		return appendInteger(dst, 0x80, 0x7f, e.table.index(number))
	}
	if n.id == msg.Unknown && isShortSecret(n.text, value) {
		return e.appendLiteral(dst, 0x10, 0x0f, uint32(n.static), n, value)
	}
	nameIndex := uint32(n.static)
	slot, number := e.index.findName(&e.table, hash, n)
	if slot != nil && nameIndex == 0 {
		nameIndex = e.table.index(number)
	}
	if how == Once || !e.mayEnter(n, value) || slot != nil && !slot.again(pair) {
		return e.appendLiteral(dst, 0, 0x0f, nameIndex, n, value)
	}
	dst = e.appendLiteral(dst, 0x40, 0x3f, nameIndex, n, value)
	entry := e.table.add(n.text, value)
	entry.id, entry.pseudo = n.id, n.pseudo
	e.index.add(&e.table, hash, pair, slot)
	e.generation++
	return dst
}

// appendLiteral appends a literal field representation (RFC 7541 section 6.2).
func (e *Encoder) appendLiteral(dst []byte, first, mask byte, nameIndex uint32, n *fieldName, value []byte) []byte {
	dst = appendInteger(dst, first, mask, nameIndex)
	if nameIndex == 0 {
		dst = appendString(dst, n.text)
	}
	return appendString(dst, value)
}

// mayEnter reports whether a field is so small that other fields can stay in the
// table.
func (e *Encoder) mayEnter(n *fieldName, value []byte) bool {
	return len(n.text)+len(value)+EntryOverhead <= e.table.max/2
}

// Reset makes e ready for another connection, like the zero value. It keeps the
// memory of the table, but the entries can't be reached any more.
func (e *Encoder) Reset() {
	e.table.empty(DefaultTableSize)
	clear(e.index.pairs)
	clear(e.index.names)
	*e = Encoder{table: e.table, index: e.index}
}
