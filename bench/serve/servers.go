//go:build linux

package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// program is an installed program that serves folders.
type program struct {
	name    string
	title   string // for the table
	path    string
	version string
	spec    *spec
}

// spec says how a program is started.
type spec struct {
	title string
	// args serves dir on a port of loopback, as a user would.
	args func(dir, port string) []string
	// options are flags for what a row asks for. A feature that isn't listed is on anyway, or
	// the program has no flag for it.
	options map[string][]string
	// zip is what follows the address of a folder to get it as an archive.
	zip string
	// form is where a form sends files to.
	form string
	// formField is the name of its field.
	formField string
	version   func(path string) string
	// size returns what is installed, in bytes, and needs what is said in with.
	size func(path string) int64
	with string
}

// Options of rows. CERT, KEY, HTPASSWD and so on are replaced by files.
const (
	optSPA       = "spa"
	optClean     = "clean"
	optKeepAlive = "keep-alive"
	optCompress  = "compress"
	optUpload    = "upload"
	optZip       = "zip"
	optTLS       = "tls"
	optOwnTLS    = "self-signed"
	optAuth      = "auth"
	optHashed    = "hashed"
	optPrecoded  = "precompressed"
	optLogText   = "log text"
	optLogJSON   = "log json"
	optLogCommon = "log combined"
)

var specs = map[string]*spec{
	"gale": {
		title: "Gale",
		args:  func(dir, port string) []string { return []string{"serve", "-addr", "127.0.0.1:" + port, dir} },
		options: map[string][]string{
			optSPA: {"-spa"}, optClean: {"-clean-urls"}, optUpload: {"-upload"}, optZip: {"-zip"},
			optTLS: {"-tls-cert", "CERT", "-tls-key", "KEY"}, optOwnTLS: {"-tls-self-signed"},
			optAuth: {"-auth", "user:secret"}, optHashed: {"-auth-file", "HTPASSWD"},
			optLogText: {"-log", "text"}, optLogJSON: {"-log", "json"}, optLogCommon: {"-log", "combined"},
		},
		zip: "?zip", formField: "file",
		version: firstWordAfter("version", "version"),
		size:    fileSize,
	},
	"python": {
		title: "python3 -m http.server",
		args: func(dir, port string) []string {
			return []string{"-m", "http.server", "--bind", "127.0.0.1", "--directory", dir, port}
		},
		options: map[string][]string{optKeepAlive: {"--protocol", "HTTP/1.1"}},
		version: firstWordAfter("--version", "Python"),
		size:    func(string) int64 { return 0 },
	},
	"serve": {
		title: "npx serve",
		args: func(dir, port string) []string {
			return []string{"--no-clipboard", "-l", "tcp://127.0.0.1:" + port, dir}
		},
		options: map[string][]string{
			optSPA: {"-s"}, optTLS: {"--ssl-cert", "CERT", "--ssl-key", "KEY"},
		},
		version: firstWordAfter("--version", ""),
		size: func(path string) int64 {
			path, _ = filepath.EvalSymlinks(path)
			before, _, _ := strings.Cut(path, "/node_modules/")
			return treeSize(filepath.Join(before, "node_modules"))
		},
		with: " and Node.js",
	},
	"caddy": {
		title: "caddy file-server",
		args: func(dir, port string) []string {
			return []string{"file-server", "--browse", "--listen", "127.0.0.1:" + port, "--root", dir}
		},
		options: map[string][]string{
			optPrecoded: {"--precompressed", "br,zstd,gzip"}, optOwnTLS: {"--domain", "localhost"},
			optLogText: {"--access-log"}, optLogJSON: {"--access-log"}, optLogCommon: {"--access-log"},
		},
		version: func(path string) string {
			info, err := buildinfo.ReadFile(path)
			if err != nil {
				return ""
			}
			return info.Main.Version
		},
		size: fileSize,
	},
	"miniserve": {
		title: "miniserve",
		args:  func(dir, port string) []string { return []string{"-i", "127.0.0.1", "-p", port, dir} },
		options: map[string][]string{
			optSPA: {"--spa", "--index", "index.html"}, optClean: {"--pretty-urls"}, optUpload: {"--upload-files"}, optZip: {"--enable-zip"}, optCompress: {"--compress-response"},
			optTLS:     {"--tls-cert", "CERT", "--tls-key", "KEY"},
			optAuth:    {"--auth", "user:secret"},
			optHashed:  {"--auth", "user:sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"},
			optLogText: {"--verbose"}, optLogJSON: {"--verbose"}, optLogCommon: {"--verbose"},
		},
		zip: "?download=zip", form: "/upload?path=/", formField: "file_to_upload",
		version: firstWordAfter("--version", "miniserve"),
		size:    fileSize,
	},
}

// findProgram returns an installed program.
func findProgram(name string, o options) (*program, error) {
	s, ok := specs[name]
	if !ok {
		return nil, fmt.Errorf("there is no program %q", name)
	}
	p := &program{name: name, title: s.title, spec: s, path: o.gale}
	if name != "gale" {
		command := map[string]string{"python": "python3"}[name]
		if command == "" {
			command = name
		}
		for _, sub := range []string{"", "bin", "node_modules/.bin", "npm/node_modules/.bin"} {
			path := filepath.Join(o.peers, sub, command)
			if info, err := os.Stat(path); o.peers != "" && err == nil && info.Mode().IsRegular() {
				p.path, _ = filepath.Abs(path)
				break
			}
		}
		if p.path == o.gale {
			path, err := exec.LookPath(command)
			if err != nil {
				return nil, fmt.Errorf("%s is not installed", command)
			}
			p.path = path
		}
	}
	if name == "python" { // what is in PATH may be a script that starts it
		if out, err := exec.Command(p.path, "-c", "import sys; print(sys.executable)").Output(); err == nil {
			p.path = strings.TrimSpace(string(out))
		}
	}
	p.version = strings.TrimPrefix(s.version(p.path), "v")
	return p, nil
}

func firstWordAfter(arg, word string) func(string) string {
	return func(path string) string {
		out, err := exec.Command(path, arg).Output()
		if err != nil {
			return ""
		}
		_, rest, ok := strings.Cut(string(out), word)
		if fields := strings.Fields(rest); ok && len(fields) > 0 {
			return fields[0]
		}
		return ""
	}
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func treeSize(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n += fileSize(path)
		}
		return nil
	})
	return n
}

// running is a started program.
type running struct {
	*program
	dir, addr string
	cmd       *exec.Cmd
	exited    chan struct{}
	err       error // valid after exited is closed
	output    output
}

// output is what a program has written so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// startTime bounds how long a program may take until it listens.
const startTime = 20 * time.Second

var errExited = errors.New("it ended")

// start serves dir, with the flags for options, and waits until the program listens. A
// program that doesn't know a flag has ended, and there is an error.
func (p *program) start(f *folders, dir string, opts ...string) (*running, error) {
	port := freePort()
	r, err := p.launch(f, dir, port, opts...)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(startTime); ; time.Sleep(2 * time.Millisecond) {
		select {
		case <-r.exited:
			return nil, fmt.Errorf("%w: %s", errExited, r.output.String())
		default:
		}
		if c, err := net.Dial("tcp", r.addr); err == nil {
			_ = c.Close()
			return r, nil
		}
		if time.Now().After(deadline) {
			r.stop()
			return nil, errors.New("it doesn't listen")
		}
	}
}

// launch starts the program and doesn't wait.
func (p *program) launch(f *folders, dir, port string, opts ...string) (*running, error) {
	args := p.spec.args(dir, port)
	for _, o := range opts {
		for _, a := range p.spec.options[o] {
			args = append(args, f.replace(a))
		}
	}
	r := &running{program: p, dir: dir, addr: "127.0.0.1:" + port, exited: make(chan struct{})}
	r.cmd = exec.Command(p.path, args...)
	r.cmd.Stdout, r.cmd.Stderr = &r.output, &r.output
	r.cmd.Dir = f.home
	r.cmd.Env = append(os.Environ(), "HOME="+f.home, "XDG_CONFIG_HOME="+f.home, "XDG_DATA_HOME="+f.home, "NO_UPDATE_CHECK=1", "PYTHONUNBUFFERED=1")
	if slices.Contains(opts, optOwnTLS) {
		r.cmd.Env = append(r.cmd.Env, "PATH=") // caddy would make this machine trust its certificates
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.exited)
	}()
	return r, nil
}

func (r *running) stop() {
	_ = r.cmd.Process.Kill()
	<-r.exited
}

// logged waits a moment for a text in the output.
func (r *running) logged(text string) string {
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if s := r.output.String(); strings.Contains(s, text) {
			return s
		}
	}
	return ""
}

// freePort returns a port that nothing listens on.
func freePort() string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}

// status reads a number of /proc/PID/status, in kB.
func (r *running) status(name string) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), name+":")
	if fields := strings.Fields(rest); len(fields) > 0 {
		n, _ := strconv.Atoi(fields[0])
		return n
	}
	return 0
}

// cpu returns the CPU time that the process has used.
func (r *running) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / 100
}

// ports returns the ports that the process listens on.
func (r *running) ports() []string {
	dir := fmt.Sprintf("/proc/%d/", r.cmd.Process.Pid)
	sockets := map[string]bool{}
	files, _ := filepath.Glob(dir + "fd/*")
	for _, f := range files {
		if to, err := os.Readlink(f); err == nil && strings.HasPrefix(to, "socket:[") {
			sockets[strings.Trim(to, "socket:[]")] = true
		}
	}
	var ports []string
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		b, _ := os.ReadFile(dir + name)
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" || !sockets[f[9]] { // 0A is LISTEN
				continue
			}
			_, port, _ := strings.Cut(f[1], ":")
			if n, err := strconv.ParseUint(port, 16, 16); err == nil {
				ports = append(ports, strconv.FormatUint(n, 10))
			}
		}
	}
	return ports
}

func (r *running) terminate() { _ = r.cmd.Process.Signal(syscall.SIGTERM) }
