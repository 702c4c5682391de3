package h2

// Config are the limits of connections. A zero field means its default. Fill sets these;
// a Config must not change after it.
type Config struct {
	// Streams is how many streams may be open at a time (default 250). One that was
	// reset counts until Done.
	Streams int
	// HeaderList bounds a head: the sum of name, value and 32 of each field, in bytes
	// (default 64 KiB), beyond it 431. A trailer section too.
	HeaderList int
	// Heads bounds the heads and trailer sections of all streams that are open, counted as
	// HeaderList is (default 48 times HeaderList): a few bytes on the wire may be a head
	// of that length. A request beyond it is refused with REFUSED_STREAM.
	Heads int
	// Fields is the highest number of fields in a head or a trailer section, each cookie
	// crumb included (default 512), beyond it 431.
	Fields int
	// Target is the longest :path in bytes (default 16 KiB), beyond it 414.
	Target int
	// StreamWindow is how much of a request's body may wait for the program, in bytes
	// (default 64 KiB): the initial window of streams. That of a stream whose program
	// waits for data grows up to StreamWindowMax (default 12 MiB).
	StreamWindow, StreamWindowMax int
	// ConnWindow is the window of the connection, in bytes (default 15 MiB, at least
	// 65,535). Data gives it back when it arrives. It is also by how much the windows of
	// all streams that are open may grow together, and so bounds memory.
	ConnWindow int
	// TableSize is the size of the table for decoding heads, in bytes (default 4,096;
	// negative: 0).
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

// Fill sets the defaults, and bounds what can't be as large as it is set.
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
