package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/lab/plan"
)

// Builder builds servers, each once, and knows the folders that they need.
type Builder struct {
	lab string // the lab's folder
	tmp string

	mu    sync.Mutex
	built map[string]built
}

type built struct {
	path string
	err  error
}

// Options say how a server is started.
type Options struct {
	Addr    string
	Side    string // for Go's figures, empty for none
	Workers int    // threads that serve; 1 if the server has one core
	To      string // address of the upstream, if it is a proxy
	Needs   plan.Needs
}

// NewBuilder returns a Builder for the checkout whose folder lab is given. It writes the
// files and the certificate that servers serve into tmp.
func NewBuilder(lab, tmp string) (*Builder, error) {
	b := &Builder{lab: lab, tmp: tmp, built: map[string]built{}}
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"cert.pem": cert, "key.pem": key}
	for _, f := range plan.Files {
		files["www/files/"+f.Name] = plan.Payload(f.Size)
	}
	files["www/index.txt"] = []byte("Hello, world!") // for h2o, which answers from files alone
	files["www/fields/index.txt"] = files["www/index.txt"]
	// h2o ends its privileges, so others must be able to read what it serves.
	for name, text := range files {
		path := filepath.Join(tmp, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Build makes the server's program. Later calls return what the first did.
func (b *Builder) Build(s *Server) error {
	_, err := b.path(s)
	return err
}

func (b *Builder) path(s *Server) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if done, ok := b.built[s.Name]; ok {
		return done.path, done.err
	}
	path, err := s.build(s, b)
	b.built[s.Name] = built{path, err}
	return path, err
}

// files is the folder that servers serve as /files/.
func (b *Builder) files() string { return filepath.Join(b.tmp, "www", "files") }

// GoBuild builds a package below a folder of the checkout and returns the program's path.
func (b *Builder) GoBuild(name, folder, pkg string) (string, error) {
	path := filepath.Join(b.tmp, "bin", name)
	cmd := exec.Command("go", "build", "-o", path, pkg)
	cmd.Dir = filepath.Join(b.lab, folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}

func buildGo(s *Server, b *Builder) (string, error) {
	if s.pkg != "" {
		return b.GoBuild(s.Name, ".", s.pkg)
	}
	return b.GoBuild(s.Name, filepath.Join("servers", s.dir), ".")
}

func buildCargo(s *Server, b *Builder) (string, error) {
	// Cargo's own folder, which .gitignore names, keeps dependencies for the next run.
	dir := filepath.Join(b.lab, "servers", s.dir)
	cmd := exec.Command("cargo", "build", "--release", "--locked")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cargo build in %s: %w\n%s", dir, err, out)
	}
	target := filepath.Join(dir, "target")
	if other := os.Getenv("CARGO_TARGET_DIR"); other != "" {
		target = other
	}
	return filepath.Join(target, "release", "lab-"+s.dir), nil
}

func installed(s *Server, _ *Builder) (string, error) { return Path(s.tool), nil }

func goArgs(s *Server, b *Builder, o Options) ([]string, error) {
	args := []string{"-addr", o.Addr}
	if o.Side != "" {
		args = append(args, "-side", o.Side)
	}
	if o.Needs.TLS {
		args = append(args, "-tls", b.tmp)
	}
	if o.Needs.HTTP2 {
		args = append(args, "-http2")
	}
	if o.Needs.Stream {
		args = append(args, "-stream")
	}
	if o.Needs.Files {
		args = append(args, "-files", b.files())
	}
	if o.Needs.Proxy {
		args = append(args, "-to", o.To)
	}
	return args, nil
}

func workersArgs(s *Server, b *Builder, o Options) ([]string, error) {
	args := []string{"-addr", o.Addr, "-workers", strconv.Itoa(o.Workers)}
	if o.Needs.HTTP2 {
		args = append(args, "-http2")
	}
	return args, nil
}

func nodeArgs(s *Server, b *Builder, o Options) ([]string, error) {
	script := filepath.Join(b.lab, "servers", s.dir, "main.js")
	return []string{script, "-addr", o.Addr, "-workers", strconv.Itoa(o.Workers)}, nil
}

// config writes a configuration and returns its path.
func (b *Builder) config(o Options, name, text string) (string, error) {
	path := filepath.Join(b.tmp, name+"-"+strings.ReplaceAll(o.Addr, ":", "-")+".conf")
	return path, os.WriteFile(path, []byte(text), 0o644)
}
