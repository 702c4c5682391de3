package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// The windows of clients are those of a browser: no answer fills that of its stream.
const (
	clientStreamWindow = 1 << 20
	clientConnWindow   = 16 << 20
	firstWindow        = 65_535 // RFC 9113 section 6.9.2
	frameHead          = 9
	maxData            = 16 << 10 // bytes of DATA in a frame
)

// http2Requests are frames that were written beforehand, for streams without a number.
type http2Requests struct {
	hello       []byte // preface, SETTINGS, WINDOW_UPDATE
	first, next []byte // HEADERS: the second one finds all fields in the table
}

func newHTTP2Requests(load http2Load) (*http2Requests, error) {
	r := &http2Requests{}
	var out, block bytes.Buffer
	fr, enc := http2.NewFramer(&out, nil), hpack.NewEncoder(&block)
	out.WriteString(http2.ClientPreface)
	if err := fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: clientStreamWindow}); err != nil {
		return nil, err
	}
	if err := fr.WriteWindowUpdate(0, clientConnWindow-firstWindow); err != nil {
		return nil, err
	}
	r.hello = bytes.Clone(out.Bytes())
	fields := []field{{":method", "GET"}, {":scheme", "http"}, {":authority", "www.example.com"}, {":path", "/some/path?id=1"}}
	if load.upload > 0 {
		fields[0].value = "POST"
		fields = append(fields, field{"content-length", fmt.Sprint(load.upload)})
	}
	for _, f := range known(5)[1:] {
		fields = append(fields, field{strings.ToLower(f.name), f.value})
	}
	for _, to := range []*[]byte{&r.first, &r.next} {
		out.Reset()
		block.Reset()
		for _, f := range fields {
			if err := enc.WriteField(hpack.HeaderField{Name: f.name, Value: f.value}); err != nil {
				return nil, err
			}
		}
		err := fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: load.upload == 0})
		if err != nil {
			return nil, err
		}
		*to = bytes.Clone(out.Bytes())
	}
	return r, nil
}

// http2Conn is one client's connection, as the server sees it. The client does its work
// within the server's calls of Read and Write, without a goroutine: it counts the streams that
// end, and opens others in their place.
type http2Conn struct {
	l     *http2Listener
	r     *http2Requests
	load  http2Load
	total int // requests

	mu   sync.Mutex
	wake sync.Cond // for Read

	out     []byte // what Read returns next
	taken   int    // of out
	opened  int    // requests
	ended   int    // answers
	closed  bool
	eof     bool
	overdue bool // the deadline of Read was in the past when it was set
	err     error

	uploads      []upload
	connWindow   int // for uploads
	streamWindow int // at first

	in    []byte // a frame that Write got a part of: its head, and its payload if it matters
	skip  int    // bytes of a payload that doesn't
	data  int    // bytes of all answers
	owed  int    // of them, since the last WINDOW_UPDATE
	head  []byte // the first answer's field block
	empty []byte // of uploads
}

// upload is a stream whose request was not sent whole.
type upload struct {
	id           uint32
	left, window int
}

func newHTTP2Conn(l *http2Listener, r *http2Requests, load http2Load, total int) *http2Conn {
	c := &http2Conn{
		l: l, r: r, load: load, total: total,
		connWindow: firstWindow, streamWindow: firstWindow,
		out: bytes.Clone(r.hello), empty: make([]byte, maxData),
	}
	c.wake.L = &c.mu
	return c
}

// Read returns requests, as many as there is room for.
func (c *http2Conn) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if c.taken == len(c.out) {
			c.out, c.taken = c.out[:0], 0
			c.send(len(b))
		}
		if n := copy(b, c.out[c.taken:]); n > 0 {
			c.taken += n
			return n, nil
		}
		if c.eof || c.closed {
			return 0, io.EOF
		}
		if c.overdue {
			return 0, os.ErrDeadlineExceeded
		}
		c.wake.Wait()
	}
}

// send makes frames until there are size bytes for Read.
func (c *http2Conn) send(size int) {
	c.sendBodies(size)
	for c.opened < c.total && c.opened-c.ended < c.load.streams && len(c.out) < size && c.err == nil {
		frame := c.r.next
		if c.opened == 0 {
			frame = c.r.first
		}
		id := uint32(2*c.opened + 1)
		c.out = append(c.out, frame...)
		binary.BigEndian.PutUint32(c.out[len(c.out)-len(frame)+5:], id)
		c.opened++
		if c.load.upload > 0 {
			c.uploads = append(c.uploads, upload{id, c.load.upload, c.streamWindow})
			c.sendBodies(size)
		}
	}
}

// sendBodies sends of the uploads what the windows allow.
func (c *http2Conn) sendBodies(size int) {
	rest := c.uploads[:0]
	for _, u := range c.uploads {
		for u.left > 0 && len(c.out) < size {
			n := min(u.left, u.window, c.connWindow, maxData)
			if n <= 0 {
				break
			}
			u.left, u.window, c.connWindow = u.left-n, u.window-n, c.connWindow-n
			flags := http2.Flags(0)
			if u.left == 0 {
				flags = http2.FlagDataEndStream
			}
			c.frame(n, http2.FrameData, flags, u.id)
			c.out = append(c.out, c.empty[:n]...)
		}
		if u.left > 0 {
			rest = append(rest, u)
		}
	}
	c.uploads = rest
}

// frame appends the head of a frame.
func (c *http2Conn) frame(n int, kind http2.FrameType, flags http2.Flags, id uint32) {
	c.out = append(c.out, byte(n>>16), byte(n>>8), byte(n), byte(kind), byte(flags))
	c.out = binary.BigEndian.AppendUint32(c.out, id)
}

// Write looks at the heads of frames, and at the payload of few.
func (c *http2Conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := len(b)
	for len(b) > 0 {
		if c.skip > 0 {
			n := min(c.skip, len(b))
			b, c.skip = b[n:], c.skip-n
			continue
		}
		need := frameHead - len(c.in)
		if need <= 0 {
			need = frameHead + payload(c.in) - len(c.in)
		}
		n := min(need, len(b))
		c.in, b = append(c.in, b[:n]...), b[n:]
		if len(c.in) >= frameHead && (!c.matters() || len(c.in) == frameHead+payload(c.in)) {
			c.received()
			c.skip = frameHead + payload(c.in) - len(c.in)
			c.in = c.in[:0]
		}
	}
	if c.wanted() {
		c.wake.Signal()
	}
	return all, nil
}

// payload returns the length of a frame's payload.
func payload(head []byte) int { return int(head[0])<<16 | int(head[1])<<8 | int(head[2]) }

// matters reports whether the payload of the frame that has begun is looked at.
func (c *http2Conn) matters() bool {
	switch kind := http2.FrameType(c.in[3]); kind {
	case http2.FrameHeaders:
		return c.head == nil
	case http2.FrameData:
		return false
	}
	return true
}

// wanted reports whether Read has, or may have, something to return.
func (c *http2Conn) wanted() bool {
	return len(c.out) > c.taken || len(c.uploads) > 0 || c.opened < c.total && c.opened-c.ended < c.load.streams
}

// received is called with a frame in c.in, the payload included if it matters.
func (c *http2Conn) received() {
	kind, flags, id := http2.FrameType(c.in[3]), http2.Flags(c.in[4]), binary.BigEndian.Uint32(c.in[5:])
	body := c.in[frameHead:]
	switch kind {
	case http2.FrameHeaders:
		if c.head == nil {
			c.head = bytes.Clone(body)
		}
		c.endOf(flags)
	case http2.FrameData:
		c.gotData(payload(c.in))
		c.endOf(flags)
	case http2.FrameSettings:
		c.gotSettings(flags, body)
	case http2.FrameWindowUpdate:
		c.gotRoom(id, int(binary.BigEndian.Uint32(body)))
	case http2.FrameRSTStream, http2.FrameGoAway:
		if c.ended < c.total {
			c.fail(fmt.Errorf("%v of stream %d: %x", kind, id, body))
		}
	}
}

// endOf counts the answers that end with END_STREAM, a flag of HEADERS and of DATA.
func (c *http2Conn) endOf(flags http2.Flags) {
	if !flags.Has(http2.FlagDataEndStream) {
		return
	}
	if c.ended++; c.ended == c.total && c.err == nil {
		c.l.done()
	}
}

// gotData gives the window of the connection back, by halves.
func (c *http2Conn) gotData(n int) {
	c.data += n
	if c.owed += n; c.owed >= clientConnWindow/2 {
		c.frame(4, http2.FrameWindowUpdate, 0, 0)
		c.out = binary.BigEndian.AppendUint32(c.out, uint32(c.owed))
		c.owed = 0
	}
}

func (c *http2Conn) gotSettings(flags http2.Flags, body []byte) {
	if flags.Has(http2.FlagSettingsAck) {
		return
	}
	for ; len(body) >= 6; body = body[6:] {
		if http2.SettingID(binary.BigEndian.Uint16(body)) != http2.SettingInitialWindowSize {
			continue
		}
		now := int(binary.BigEndian.Uint32(body[2:]))
		for i := range c.uploads {
			c.uploads[i].window += now - c.streamWindow
		}
		c.streamWindow = now
	}
	c.frame(0, http2.FrameSettings, http2.FlagSettingsAck, 0)
}

func (c *http2Conn) gotRoom(id uint32, n int) {
	if id == 0 {
		c.connWindow += n
		return
	}
	for i := range c.uploads {
		if c.uploads[i].id == id {
			c.uploads[i].window += n
		}
	}
}

// fail ends the run: there will be no more answers.
func (c *http2Conn) fail(err error) {
	if c.err == nil && c.ended < c.total {
		c.err = err
		c.l.done()
	}
}

// end lets Read return io.EOF.
func (c *http2Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.eof = true
	c.wake.Signal()
}

func (c *http2Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.fail(fmt.Errorf("the server closed after %d of %d answers", c.ended, c.total))
		c.wake.Signal()
		c.l.open.Done()
	}
	return nil
}

// SetReadDeadline lets a server end a call of Read. Deadlines to come don't: no answer takes
// so long.
func (c *http2Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.overdue = !t.IsZero() && !t.After(time.Now())
	if c.overdue {
		c.wake.Signal()
	}
	return nil
}

func (c *http2Conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

func (c *http2Conn) LocalAddr() net.Addr              { return serverAddr }
func (c *http2Conn) RemoteAddr() net.Addr             { return clientAddr }
func (c *http2Conn) SetWriteDeadline(time.Time) error { return nil }
