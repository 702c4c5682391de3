package far

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/gate"
)

const (
	// roundTrip and gigabit are the round-trip time and the speed of the links.
	roundTrip = 50 * time.Millisecond
	gigabit   = 1e9 / 8
	// bandwidthDelay is how many bytes must be on their way to use the full speed of a
	// link.
	bandwidthDelay = 6_250_000
)

// block is repeated to make bodies. Its length is odd, so that the tests notice lost or
// doubled pieces.
var block = func() []byte {
	b := make([]byte, 1<<20+1)
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], gate.Rand.Uint64())
	}
	return b
}()

// blocks is a reader of a body of left bytes.
type blocks struct{ at, left int64 }

func (r *blocks) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), r.left)], block[r.at%int64(len(block)):])
	r.at += int64(n)
	r.left -= int64(n)
	return n, nil
}

// errBytes says that the received bytes are not those that were sent.
var errBytes = errors.New("far: the bytes are others")

// checkPiece compares p with the bytes of a body from at on, and returns the position
// after p.
func checkPiece(p []byte, at int64) (end int64, err error) {
	for len(p) > 0 {
		want := block[at%int64(len(block)):]
		want = want[:min(len(want), len(p))]
		if !bytes.Equal(p[:len(want)], want) {
			return at, errBytes
		}
		p = p[len(want):]
		at += int64(len(want))
	}
	return at, nil
}

// checkBody reads a body to its end and returns its length.
func checkBody(r io.Reader) (n int64, err error) {
	b := make([]byte, 64<<10)
	for {
		m, err := r.Read(b)
		var bad error
		if n, bad = checkPiece(b[:m], n); bad != nil {
			return n, bad
		}
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return n, err
		}
	}
}

func handle(ctx *gale.RequestCtx) {
	if ctx.IsPost() {
		n, err := checkBody(ctx.RequestBodyStream())
		if err != nil {
			ctx.Error(err.Error(), gale.StatusInternalServerError)
			return
		}
		fmt.Fprint(ctx, n)
		return
	}
	n := ctx.QueryArgs().GetUintOrZero("n")
	ctx.SetBodyStream(&blocks{left: int64(n)}, n)
}

// serve starts a server that ends with the test, and returns its address.
func serve(t *testing.T, engine gale.Engine, overTLS bool) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gale.Server{Handler: handle, Engine: engine, StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}}
	served := make(chan error, 1)
	if overTLS {
		cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		go func() { served <- s.ServeTLSEmbed(ln, cert, key) }()
	} else {
		go func() { served <- s.Serve(ln) }()
	}
	t.Cleanup(func() {
		s.Close()
		ln.Close() // Serve may not have begun yet, and would begin after Close
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return ln.Addr().String()
}

// newClient returns a client of net/http that speaks one version of HTTP, with windows
// large enough for the link.
func newClient(t *testing.T, version int, overTLS bool) *http.Client {
	p := new(http.Protocols)
	p.SetHTTP1(version == 1)
	p.SetHTTP2(version == 2 && overTLS)
	p.SetUnencryptedHTTP2(version == 2 && !overTLS)
	tr := &http.Transport{
		Protocols:       p,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		HTTP2:           &http.HTTP2Config{MaxReceiveBufferPerStream: 15 << 20, MaxReceiveBufferPerConnection: 15 << 20},
		WriteBufferSize: 64 << 10,
		ReadBufferSize:  64 << 10,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// upload and download move a body of n bytes.
func upload(c *http.Client, url string, n int64) error {
	req, err := http.NewRequest("POST", url, struct{ io.Reader }{&blocks{left: n}})
	if err != nil {
		return err
	}
	req.ContentLength = n
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != 200 || string(b) != strconv.FormatInt(n, 10)) {
		err = fmt.Errorf("%d %s", resp.StatusCode, b)
	}
	return err
}

func download(c *http.Client, url string, n int64) error {
	resp, err := c.Get(url + "?n=" + strconv.FormatInt(n, 10))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if got, err := checkBody(resp.Body); err != nil || got != n {
		return fmt.Errorf("%d of %d bytes, %v", got, n, err)
	}
	return nil
}

// frames finds the frames in a sequence of bytes.
type frames struct {
	skip int // bytes that are not frames
	head []byte
	need int // bytes of a payload that have not arrived yet
	keep []byte
	each func(typ byte, stream uint32, length int, payload []byte) // payload only for WINDOW_UPDATE
}

const (
	dataFrame         = 0
	windowUpdateFrame = 8
)

func (f *frames) see(p []byte) {
	for len(p) > 0 {
		switch {
		case f.skip > 0:
			n := min(f.skip, len(p))
			f.skip -= n
			p = p[n:]
		case f.need > 0:
			n := min(f.need, len(p))
			f.need -= n
			if f.keep != nil {
				f.keep = append(f.keep, p[:n]...)
			}
			p = p[n:]
		default:
			n := min(9-len(f.head), len(p))
			f.head = append(f.head, p[:n]...)
			p = p[n:]
			if len(f.head) < 9 {
				return
			}
			f.need = int(binary.BigEndian.Uint32(f.head) >> 8)
			f.keep = nil
			if f.head[3] == windowUpdateFrame {
				f.keep = make([]byte, 0, 4)
			}
		}
		if len(f.head) == 9 && f.need == 0 {
			stream := binary.BigEndian.Uint32(f.head[5:]) & (1<<31 - 1)
			f.each(f.head[3], stream, int(binary.BigEndian.Uint32(f.head)>>8), f.keep)
			f.head = f.head[:0]
		}
	}
}

// windows tracks the windows that a server gives its client, for one stream and for the
// connection.
type windows struct {
	mu           sync.Mutex
	stream, conn int // what may be sent
	highest      int // the largest window of the stream so far
	highestConn  int
	updates      int
}

func (w *windows) given(typ byte, stream uint32, _ int, payload []byte) {
	if typ != windowUpdateFrame {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.updates++
	n := int(binary.BigEndian.Uint32(payload))
	if stream == 0 {
		w.conn += n
		w.highestConn = max(w.highestConn, w.conn)
		return
	}
	w.stream += n
	w.highest = max(w.highest, w.stream)
}

func (w *windows) taken(typ byte, _ uint32, length int, _ []byte) {
	if typ != dataFrame {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stream -= length
	w.conn -= length
}

// TestWindowsGrow proves that the window of an upload over a slow link grows to what the
// link needs, but not beyond 16 MiB, and that large bodies arrive complete in both
// directions.
func TestWindowsGrow(t *testing.T) {
	for _, engine := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			w := &windows{stream: 64 << 10, conn: 65535}
			given, taken := &frames{each: w.given}, &frames{skip: len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), each: w.taken}
			l := startLink(t, &link{to: serve(t, engine, false), delay: roundTrip / 2, rate: gigabit, up: taken.see, down: given.see})
			c := newClient(t, 2, false)
			url := "http://" + l.Addr().String() + "/"
			if err := upload(c, url, 64<<20); err != nil {
				t.Fatal(err)
			}
			w.mu.Lock()
			if w.highest < bandwidthDelay || w.highest >= 16<<20 || w.highestConn >= 16<<20 {
				t.Errorf("the windows were up to %d and %d bytes", w.highest, w.highestConn)
			}
			if w.updates > 100 {
				t.Errorf("%d WINDOW_UPDATE frames for 64 MiB", w.updates)
			}
			w.mu.Unlock()
			if err := download(c, url, 16<<20); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestSpeed compares HTTP/2 with HTTP/1.1, over TLS, directly and over a link.
func TestSpeed(t *testing.T) {
	if os.Getenv("GALE_FAR") == "" {
		t.Skip("GALE_FAR is not set: it takes minutes of a quiet machine")
	}
	const size = 1_000_000_000
	for _, engine := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		near := serve(t, engine, true)
		far := startLink(t, &link{to: near, delay: roundTrip / 2, rate: gigabit}).Addr().String()
		for _, way := range []struct {
			name, addr string
			rounds     int
		}{{"near", near, 3}, {"far", far, 1}} {
			for _, move := range []struct {
				name string
				f1   func(*http.Client, string, int64) error
				f2   func(string, int64) error
			}{{"up", upload, fastUpload}, {"down", download, fastDownload}} {
				var ratios []float64
				for range way.rounds {
					var took [3]time.Duration
					c := newClient(t, 1, true)
					began := time.Now()
					if err := move.f1(c, "https://"+way.addr+"/", size); err != nil {
						t.Fatal(err)
					}
					took[1] = time.Since(began)
					c.CloseIdleConnections()
					began = time.Now()
					if err := move.f2(way.addr, size); err != nil {
						t.Fatal(err)
					}
					took[2] = time.Since(began)
					ratios = append(ratios, float64(took[1])/float64(took[2]))
					t.Logf("%v %s %s: HTTP/1.1 %.0f MB/s, HTTP/2 %.0f MB/s", engine, way.name, move.name,
						size/1e6/took[1].Seconds(), size/1e6/took[2].Seconds())
				}
				slices.Sort(ratios)
				if r := ratios[len(ratios)/2]; r < 0.9 {
					t.Errorf("%v %s %s: HTTP/2 has %.2f of the speed", engine, way.name, move.name, r)
				}
			}
		}
	}
}
