package h2

// Config are the limits of connections. A zero field means its default. Fill sets
// the defaults; a Config must not change after that.
//
// In a client, a response beyond a limit resets its stream with ENHANCE_YOUR_CALM, and
// Target and ExtendedConnect have no meaning.
type Config struct {
	// Streams is how many streams may be open at a time (default 250). A stream that was
	// reset counts until Done. A stream that both sides have ended doesn't count: the
	// client may know before Done that it has ended. There may be twice as many streams
	// with these. In a client, the server may allow fewer.
	Streams int
	// HeaderList limits the size of a head, in bytes: the sum of name, value and 32
	// for each field (default 64 KiB). A longer one gets 431. It also limits a
	// trailer section.
	HeaderList int
	// Heads limits the heads and trailer sections of all open streams together,
	// counted as for HeaderList (default 48 times HeaderList). The limit is needed
	// because a few bytes on the wire may decode to a head of that length. A
	// request beyond it is refused with REFUSED_STREAM.
	Heads int
	// Fields is the highest number of fields in a head or a trailer section,
	// including each cookie crumb (default 512). A request with more gets 431.
	Fields int
	// Target is the maximum length of :path in bytes (default 16 KiB). A longer one
	// gets 414.
	Target int
	// StreamWindow is the initial window of streams in bytes: how much of a
	// received body may wait for the program (default 64 KiB). If the program
	// waits for data, the window of its stream grows up to StreamWindowMax (default
	// 12 MiB).
	StreamWindow, StreamWindowMax int
	// ConnWindow is the window of the connection, in bytes (default 15 MiB, at
	// least 65,535). Data is given back to this window as soon as it arrives.
	// ConnWindow also limits the sum of the growth of all open streams' windows,
	// and so memory.
	ConnWindow int
	// TableSize is the size in bytes of the table for decoding heads (default
	// 4,096; negative values mean 0).
	TableSize int
	// ExtendedConnect allows :protocol (RFC 8441). The head then has the method CONNECT,
	// the target of :path, and Stream.Protocol.
	ExtendedConnect bool
}

// The defaults of Config.
const (
	DefaultStreams         = 250
	DefaultHeaderList      = 64 << 10
	DefaultFields          = 512
	DefaultTarget          = 16 << 10
	DefaultStreamWindow    = 64 << 10
	DefaultStreamWindowMax = 12 << 20
	DefaultConnWindow      = 15 << 20
	DefaultTableSize       = 4096
)

// Fill sets the defaults, and reduces values that are too large.
func (cfg *Config) Fill() {
	setDefault(&cfg.Streams, DefaultStreams, 1, 1<<16)
	setDefault(&cfg.HeaderList, DefaultHeaderList, 1<<10, 16<<20)
	setDefault(&cfg.Heads, 48*cfg.HeaderList, cfg.HeaderList, 1<<30)
	setDefault(&cfg.Fields, DefaultFields, 1, 1<<15)
	setDefault(&cfg.Target, DefaultTarget, 1, 1<<24)
	setDefault(&cfg.StreamWindow, DefaultStreamWindow, 1, maxWindow)
	setDefault(&cfg.StreamWindowMax, DefaultStreamWindowMax, cfg.StreamWindow, maxWindow)
	setDefault(&cfg.ConnWindow, DefaultConnWindow, initialWindow, maxWindow)
	if cfg.TableSize == 0 {
		cfg.TableSize = DefaultTableSize
	}
	cfg.TableSize = min(max(cfg.TableSize, 0), 1<<16)
}

func setDefault(n *int, value, least, most int) {
	if *n <= 0 {
		*n = value
	}
	*n = min(max(*n, least), most)
}
