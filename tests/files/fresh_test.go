//go:build unix

package files

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// freshModel changes the files of a directory at random and knows what they hold.
type freshModel struct {
	t     *testing.T
	rnd   *rand.Rand
	dir   string
	n     int
	times []time.Time
	// got is what was answered before: the content by file, coding and validators. A 304
	// says that the client has it.
	got map[string]map[string]string
}

// The names that are asked for, and what may lie there.
var freshNames = []string{"a.txt", "b.txt", "sub/c.txt", "dir/"}

func newFreshModel(t *testing.T, seed uint64) *freshModel {
	m := &freshModel{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), dir: filepath.Join(t.TempDir(), "root"), got: map[string]map[string]string{}}
	m.times = []time.Time{time.Unix(1_600_000_000, 0), time.Unix(1_600_000_000, 5), time.Now().Add(-time.Hour)}
	return m
}

func (m *freshModel) path(name string) string { return filepath.Join(m.dir, filepath.FromSlash(name)) }

// text returns new content, mostly of the size of other content: small, compressible, or
// too large for the memory of a cache.
func (m *freshModel) text() string {
	m.n++
	size := []int{20, 20, 600, 600, 10_000}[m.rnd.IntN(5)]
	return fmt.Sprintf("%07d%s", m.n, strings.Repeat(" text", size/5))
}

func (m *freshModel) write(path, text string) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if info, err := os.Lstat(path); err == nil && (info.IsDir() || info.Mode()&os.ModeSymlink != 0) {
		os.RemoveAll(path)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	if m.rnd.IntN(3) > 0 {
		m.backdate(path)
	}
}

// backdate sets the modification time to one that other content has, too.
func (m *freshModel) backdate(path string) {
	at := m.times[m.rnd.IntN(len(m.times))]
	_ = os.Chtimes(path, at, at)
}

// target returns a file that a request may get.
func (m *freshModel) target() string {
	names := []string{"a.txt", "b.txt", "sub/c.txt", "dir/index.html", "dir/index.htm"}
	return m.path(names[m.rnd.IntN(len(names))])
}

// step changes something.
func (m *freshModel) step() {
	path := m.target()
	switch m.rnd.IntN(14) {
	case 0, 1, 2, 3:
		m.write(path, m.text())
	case 4, 5: // replaced
		other := filepath.Join(filepath.Dir(m.dir), "other")
		m.write(other, m.text())
		_ = os.MkdirAll(filepath.Dir(path), 0o700)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			os.RemoveAll(path)
		}
		_ = os.Rename(other, path)
	case 6:
		_ = os.RemoveAll(path)
	case 7:
		_ = os.Remove(path)
		_ = os.MkdirAll(path, 0o700)
	case 8: // a link inside
		_ = os.RemoveAll(path)
		_ = os.MkdirAll(filepath.Dir(path), 0o700)
		if to, err := filepath.Rel(filepath.Dir(path), m.target()); err == nil {
			_ = os.Symlink(to, path)
		}
	case 9: // a link that leads out
		m.write(filepath.Join(filepath.Dir(m.dir), "secret"), "secret")
		_ = os.RemoveAll(path)
		_ = os.Symlink(filepath.Join(filepath.Dir(m.dir), "secret"), path)
	case 10: // a hard link
		to := m.target()
		if to != path {
			_ = os.RemoveAll(path)
			_ = os.Link(to, path)
		}
	case 11: // a variant of another program
		text := m.text()
		m.write(path+".gz", string(compress.Append(nil, []byte(text), compress.Gzip, 1)))
	case 12:
		_ = os.Remove(path + ".gz")
	case 13:
		if m.rnd.IntN(5) == 0 {
			_ = os.RemoveAll(m.dir)
			_ = os.MkdirAll(m.dir, 0o700)
		}
	}
}

// plain returns what a request without Accept-Encoding must get, and false if there is
// nothing. The root is opened anew, so nothing is remembered.
func (m *freshModel) plain(name string) (text, file string, ok bool) {
	root, err := os.OpenRoot(m.dir)
	if err != nil {
		return "", "", false
	}
	defer root.Close()
	files := []string{name}
	if strings.HasSuffix(name, "/") {
		files = []string{name + "index.html", name + "index.htm"}
	}
	for _, f := range files {
		if info, err := root.Stat(f); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if b, err := root.ReadFile(f); err == nil {
			return string(b), f, true
		}
	}
	return "", "", false
}

// packed returns the content of the variant of file that another program has made.
func (m *freshModel) packed(file string) (text string, ok bool) {
	root, err := os.OpenRoot(m.dir)
	if err != nil {
		return "", false
	}
	defer root.Close()
	of, err := root.Stat(file)
	if err != nil {
		return "", false
	}
	info, err := root.Stat(file + ".gz")
	if err != nil || !info.Mode().IsRegular() || info.ModTime().Before(of.ModTime()) {
		return "", false
	}
	b, err := root.ReadFile(file + ".gz")
	if err != nil {
		return "", false
	}
	return m.unpack(string(b)), true
}

func (m *freshModel) unpack(data string) string {
	b, err := compress.AppendDecoded(nil, []byte(data), compress.Gzip, 1<<20)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(b)
}

// freshReply is what a client sees.
type freshReply struct {
	status             int
	etag, date, coding string
	body               string
}

// ask sends a request by do, perhaps with the validators of one of the answers before, and
// compares the answer with the files.
func (m *freshModel) ask(do func(target string, fields [][2]string) freshReply) {
	name := freshNames[m.rnd.IntN(len(freshNames))]
	var fields [][2]string
	packing := m.rnd.IntN(2) == 0
	if packing {
		fields = append(fields, [2]string{"Accept-Encoding", "gzip"})
	}
	key := fmt.Sprint(name, packing)
	if m.got[key] == nil {
		m.got[key] = map[string]string{}
	}
	has, conditional := "", false
	for v, content := range m.got[key] { // any of them
		if conditional = m.rnd.IntN(2) == 0; conditional {
			field, value, _ := strings.Cut(v, ": ")
			fields, has = append(fields, [2]string{field, value}), content
			break
		}
	}
	want, file, ok := m.plain(name)
	got := do("/"+name, fields)
	what := fmt.Sprintf("step %d: %s %v", m.n, name, fields)
	if !ok {
		if got.status != 404 && got.status != 403 && got.status != 302 {
			m.t.Fatalf("%s: status %d, want an error", what, got.status)
		}
		return
	}
	if packing {
		if text, ok := m.packed(file); ok {
			want = text
		}
	}
	text := got.body
	if got.coding != "" {
		text = m.unpack(got.body)
	}
	switch {
	case got.status == 304 && conditional:
		if has != want {
			m.t.Fatalf("%s: 304 for %.8q, but it is %.8q", what, has, want)
		}
		return
	case got.status != 200 || text != want:
		m.t.Fatalf("%s: status %d with %.8q of %d bytes, want %.8q of %d", what, got.status, text, len(text), want, len(want))
	}
	if got.etag != "" {
		m.got[key]["If-None-Match: "+got.etag] = want
	}
	if got.date != "" {
		m.got[key]["If-Modified-Since: "+got.date] = want
	}
}

func freshFS(m *freshModel, compressRoot string) *gale.FS {
	return &gale.FS{
		Root: m.dir, IndexNames: []string{"index.html", "index.htm"}, Fresh: true, StrongETags: true,
		Compress: true, Precompressed: true, CompressRoot: compressRoot, AcceptByteRange: true,
	}
}

// No answer is older than its request, however files are changed and whatever their time
// stamps and sizes say.
func TestFSFreshAlways(t *testing.T) {
	peers.WithoutEngine(t)
	seed := gate.Rand.Uint64()
	t.Logf("seed %d", seed)
	m := newFreshModel(t, seed)
	h := freshFS(m, filepath.Join(t.TempDir(), "copies")).NewRequestHandler()
	notModified := 0
	do := func(target string, fields [][2]string) freshReply {
		lines := make([]string, len(fields))
		for i, f := range fields {
			lines[i] = f[0] + ": " + f[1]
		}
		a := harness.Ask(t, h, "GET", target, lines...)
		if a.Status == 304 {
			notModified++
		}
		return freshReply{a.Status, a.Get("ETag"), a.Get("Last-Modified"), a.Get("Content-Encoding"), a.Body}
	}
	for i := range race.Fewer(1000) {
		m.step()
		asks := 2
		if i%15 == 0 {
			time.Sleep(25 * time.Millisecond) // so that all are cached
			asks = 20
		}
		for range asks {
			m.ask(do)
		}
	}
	t.Logf("%d answers were 304", notModified)
}

// The same over connections, with both engines.
func TestFSFreshConnections(t *testing.T) {
	for _, engine := range peers.Engines[gale.Engine]() {
		seed := gate.Rand.Uint64()
		t.Logf("seed %d", seed)
		m := newFreshModel(t, seed)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gale.Server{Handler: freshFS(m, filepath.Join(t.TempDir(), "copies")).NewRequestHandler(), Engine: engine, Logger: peers.DiscardLog{}}
		go s.Serve(ln)
		c := &gale.HostClient{Addr: ln.Addr().String()}
		do := func(target string, fields [][2]string) freshReply {
			var req gale.Request
			var resp gale.Response
			req.SetRequestURI("http://" + c.Addr + target)
			for _, f := range fields {
				req.Header.Set(f[0], f[1])
			}
			if err := c.Do(&req, &resp); err != nil {
				t.Fatal(err)
			}
			h := &resp.Header
			return freshReply{resp.StatusCode(), string(h.Peek("ETag")), string(h.Peek("Last-Modified")), string(h.Peek("Content-Encoding")), string(resp.Body())}
		}
		for i := range race.Fewer(200) {
			m.step()
			if i%40 == 0 {
				time.Sleep(25 * time.Millisecond) // so that all are cached
			}
			m.ask(do)
			m.ask(do)
		}
		c.CloseIdleConnections()
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	}
}
