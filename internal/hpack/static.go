package hpack

import "github.com/galehttp/gale/internal/msg"

// numStatic is the number of entries of the static table.
const numStatic = 61

// staticPairs is the static table (RFC 7541 appendix A): names and values in turn.
// Index 1 is the first.
var staticPairs = [numStatic][2]string{
	{":authority", ""},
	{":method", "GET"},
	{":method", "POST"},
	{":path", "/"},
	{":path", "/index.html"},
	{":scheme", "http"},
	{":scheme", "https"},
	{":status", "200"},
	{":status", "204"},
	{":status", "206"},
	{":status", "304"},
	{":status", "400"},
	{":status", "404"},
	{":status", "500"},
	{"accept-charset", ""},
	{"accept-encoding", "gzip, deflate"},
	{"accept-language", ""},
	{"accept-ranges", ""},
	{"accept", ""},
	{"access-control-allow-origin", ""},
	{"age", ""},
	{"allow", ""},
	{"authorization", ""},
	{"cache-control", ""},
	{"content-disposition", ""},
	{"content-encoding", ""},
	{"content-language", ""},
	{"content-length", ""},
	{"content-location", ""},
	{"content-range", ""},
	{"content-type", ""},
	{"cookie", ""},
	{"date", ""},
	{"etag", ""},
	{"expect", ""},
	{"expires", ""},
	{"from", ""},
	{"host", ""},
	{"if-match", ""},
	{"if-modified-since", ""},
	{"if-none-match", ""},
	{"if-range", ""},
	{"if-unmodified-since", ""},
	{"last-modified", ""},
	{"link", ""},
	{"location", ""},
	{"max-forwards", ""},
	{"proxy-authenticate", ""},
	{"proxy-authorization", ""},
	{"range", ""},
	{"referer", ""},
	{"refresh", ""},
	{"retry-after", ""},
	{"server", ""},
	{"set-cookie", ""},
	{"strict-transport-security", ""},
	{"transfer-encoding", ""},
	{"user-agent", ""},
	{"vary", ""},
	{"via", ""},
	{"www-authenticate", ""},
}

// staticEntry is an entry of the static table, with its name and value in one string.
type staticEntry struct {
	text    string
	nameLen uint8
	last    uint8 // the highest index with the name
	id      msg.ID
	pseudo  Pseudo
}

func (s *staticEntry) name() string  { return s.text[:s.nameLen] }
func (s *staticEntry) value() string { return s.text[s.nameLen:] }

// static is the static table by index; index 0 isn't used.
var static = func() (t [numStatic + 1]staticEntry) {
	for i := numStatic; i > 0; i-- {
		p := staticPairs[i-1]
		id, pseudo := identify([]byte(p[0]))
		t[i] = staticEntry{text: p[0] + p[1], nameLen: uint8(len(p[0])), last: uint8(i), id: id, pseudo: pseudo}
		if i < numStatic && t[i+1].name() == p[0] {
			t[i].last = t[i+1].last
		}
	}
	return t
}()

// staticByID and staticByPseudo hold the lowest index of the entries with a name,
// or 0.
var staticByID, staticByPseudo = func() (ids [msg.NumIDs]uint8, pseudos [numPseudos]uint8) {
	for i := numStatic; i > 0; i-- {
		s := &static[i]
		ids[s.id], pseudos[s.pseudo] = uint8(i), uint8(i)
	}
	ids[msg.Unknown], pseudos[NotPseudo] = 0, 0
	return ids, pseudos
}()

// staticByName is staticByID for names that are Unknown.
func staticByName(name []byte) uint8 {
	switch string(name) {
	case "accept-charset":
		return 15
	case "age":
		return 21
	case "content-location":
		return 29
	case "from":
		return 37
	case "link":
		return 45
	case "max-forwards":
		return 47
	case "proxy-authenticate":
		return 48
	case "refresh":
		return 52
	case "retry-after":
		return 53
	case "via":
		return 60
	case "www-authenticate":
		return 61
	}
	return 0
}

// staticPair returns the index of the entry with value and the name of entry first,
// or 0. first must be the lowest entry of that name.
func staticPair(first uint8, value []byte) uint8 {
	for i, last := first, static[first].last; i <= last; i++ {
		if static[i].value() == string(value) {
			return i
		}
	}
	return 0
}
