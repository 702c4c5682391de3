package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/format"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// wait is how long anything may take before a test gives up.
const wait = 30 * time.Second

// TestGo compiles the Go code of the documents, runs their tests and talks to their
// programs.
func TestGo(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("not installed: go")
	}
	m := newModule(t)
	for _, doc := range documents(t) {
		m.addDocument(t, doc)
	}
	if t.Failed() {
		return
	}
	m.write(t)
	binary := filepath.Join(m.dir, "programs.exe")
	steps := [][]string{{"vet", "./..."}, {"build", "-o", binary, "."}}
	if len(m.tested) > 0 {
		steps = append(steps, append([]string{"test"}, m.tested...))
	}
	for _, args := range steps {
		cmd := exec.Command(goTool, args...)
		cmd.Dir = m.dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	for _, p := range m.programs {
		t.Run(p.block.String(), func(t *testing.T) {
			t.Parallel()
			p.run(t, binary, p.pkg)
		})
	}
	for _, p := range m.others {
		t.Run(p.block.String(), func(t *testing.T) {
			t.Parallel()
			p.run(t, p.build(t, goTool))
		})
	}
}

// module is the temporary module: a package for each block or for files that belong
// together, and a command that has all programs.
type module struct {
	dir      string
	files    map[string]string // by path below dir
	tested   []string          // packages with tests
	programs []*program
	others   []*program // of other modules
}

func newModule(t *testing.T) *module {
	return &module{dir: t.TempDir(), files: make(map[string]string)}
}

// addDocument adds the Go blocks of a document.
func (m *module) addDocument(t *testing.T, doc string) {
	var current *program // the one that console blocks belong to
	prefix := regexp.MustCompile(`\W`).ReplaceAllString(strings.TrimSuffix(doc, ".md"), "_")
	for i, b := range blocksOf(t, doc) {
		switch b.lang {
		case "go":
		case "console":
			if current == nil {
				t.Errorf("%s: a console block belongs to the program before it, and there is none", b)
				continue
			}
			current.console = append(current.console, b)
			continue
		default:
			if b.comment != "" {
				t.Errorf("%s: a test comment before a block that isn't Go", b)
			}
			continue
		}
		if tidy, err := format.Source([]byte(b.text)); err == nil && string(tidy) != b.text {
			t.Errorf("%s: gofmt would change the block", b)
		}
		form, given, _ := strings.Cut(b.comment, " given ")
		pkg := fmt.Sprintf("%s_%d", prefix, i)
		whole := packageName(b.text) != ""
		if form == "" && !whole && onlyDeclarations(b.text) {
			form = "declarations"
		}
		if path, ok := strings.CutPrefix(form, "part of "); ok {
			checkPart(t, b, path)
			current = nil
			continue
		}
		if dir, ok := strings.CutPrefix(form, "module "); ok && whole {
			current = &program{block: b, module: dir}
			current.source = current.replacePorts(t, b.text)
			m.others = append(m.others, current)
			continue
		}
		name := "a.go"
		if path, ok := strings.CutPrefix(form, "file "); ok && whole {
			dir, base, ok := strings.Cut(path, "/")
			if !ok {
				t.Errorf("%s: file wants FOLDER/NAME", b)
			}
			pkg, name, form = prefix+"_"+dir, base, ""
		}
		var src string
		var err error
		switch {
		case form == "" && whole:
			var isProgram bool
			if src, isProgram, err = renamed(b, pkg); isProgram {
				current = &program{block: b, pkg: pkg}
				src = current.replacePorts(t, src)
				m.programs = append(m.programs, current)
			}
		case slices.Contains([]string{"handler", "function", "declarations"}, form) && !whole:
			src, err = fragment(pkg, b, form, given)
		default:
			err = fmt.Errorf("no form of a test that is known: %q (see doc.go of tests/docs)", b.comment)
		}
		if err != nil {
			t.Errorf("%s: %v", b, err)
			continue
		}
		m.files[pkg+"/"+name] = src
		if dir := "./" + pkg; strings.HasSuffix(name, "_test.go") && !slices.Contains(m.tested, dir) {
			m.tested = append(m.tested, dir)
		}
	}
}

// checkPart checks that a block is a part of a file.
func checkPart(t *testing.T, b block, path string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Errorf("%s: %v", b, err)
		return
	}
	if !strings.Contains("\n"+string(text), "\n"+b.text) {
		t.Errorf("%s: these lines are not in %s", b, path)
	}
}

// write writes the module.
func (m *module) write(t *testing.T) {
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(mod), "\n")
	m.files["go.mod"] = "module documents\n" + rest +
		fmt.Sprintf("\nrequire github.com/galehttp/gale v0.0.0\nreplace github.com/galehttp/gale => %q\n", checkout)
	m.files["go.sum"] = string(sum)
	var list, cases strings.Builder
	for _, p := range m.programs {
		fmt.Fprintf(&list, "\t%q\n", "documents/"+p.pkg)
		fmt.Fprintf(&cases, "\tcase %q:\n\t\t%s.Main()\n", p.pkg, p.pkg)
	}
	m.files["main.go"] = "package main\n\nimport (\n\t\"os\"\n" + list.String() + ")\n\nfunc main() {\n" +
		"\tname := os.Args[1]\n\tos.Args = os.Args[:1]\n\tswitch name {\n" + cases.String() + "\t}\n}\n"
	for path, text := range m.files {
		path = filepath.Join(m.dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// program is a whole program of a document.
type program struct {
	block   block
	pkg     string // of the temporary module
	module  string // the folder of another module, if it needs one
	source  string // its text, if it needs another module
	console []block
	ports   []string // pairs: a port of the document, the port that replaces it
	addrs   []string // what it listens on
}

var addrRx = regexp.MustCompile(`"(?:127\.0\.0\.1|localhost|0\.0\.0\.0)?:(\d+)"`)

// replacePorts returns src with ports that are free.
func (p *program) replacePorts(t *testing.T, src string) string {
	t.Helper()
	for _, m := range addrRx.FindAllStringSubmatch(src, -1) {
		if !slices.Contains(p.ports, ":"+m[1]) {
			port := freePort(t)
			p.ports = append(p.ports, ":"+m[1], ":"+port)
			p.addrs = append(p.addrs, "127.0.0.1:"+port)
		}
	}
	return addrRx.ReplaceAllStringFunc(src, func(s string) string {
		_, port, _ := strings.Cut(strings.Trim(s, `"`), ":")
		return `"127.0.0.1` + strings.NewReplacer(p.ports...).Replace(":"+port) + `"`
	})
}

// usedPorts are the ports that freePort has returned.
var usedPorts = make(map[int]bool)

// freePort returns a port that nothing listens on. It is outside of the range of ephemeral
// ports. Otherwise another test could get it before the program listens.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := 10000 + rand.IntN(10000)
		ln, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		ln.Close()
		if !usedPorts[port] {
			usedPorts[port] = true
			return strconv.Itoa(port)
		}
	}
	t.Fatal("there is no free port")
	return ""
}

// build compiles the program as a package of its module, without writing a file there.
func (p *program) build(t *testing.T, goTool string) (binary string) {
	t.Helper()
	tmp := t.TempDir()
	source, overlay := filepath.Join(tmp, "main.go"), filepath.Join(tmp, "overlay.json")
	dir, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(p.module)))
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(dir, "document", "main.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{source: []byte(p.source), overlay: list} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary = filepath.Join(tmp, "program.exe")
	cmd := exec.Command(goTool, "build", "-buildvcs=false", "-overlay", overlay, "-o", binary, "./document")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("GOPROXY=off")) {
			t.Skipf("not installed: modules of %s", p.module)
		}
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// run starts the program, runs the commands of its console blocks and ends it.
func (p *program) run(t *testing.T, binary string, args ...string) {
	dir := t.TempDir()
	writeFiles(t, dir)
	var output bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("the program wrote:\n%s", output.Bytes())
		}
	})
	for _, addr := range p.addrs {
		if err := waitUntilUp(addr, ended); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.console) == 0 {
		answers(t, p.addrs)
	}
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("not installed: %s", tool)
		}
	}
	for _, b := range p.console {
		p.talk(t, b, dir)
	}
	if strings.Contains(p.block.text, "ShutdownWithContext(") && runtime.GOOS != "windows" {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case err := <-ended:
			ended <- err
			if err != nil {
				t.Errorf("after SIGINT: %v", err)
			}
		case <-time.After(wait):
			t.Error("it doesn't end")
		}
	}
}

// answers asks a server for anything: any answer does.
func answers(t *testing.T, addrs []string) {
	t.Helper()
	for _, addr := range addrs {
		client := &http.Client{Timeout: wait}
		resp, err := client.Get("http://" + addr + "/")
		if err != nil {
			t.Error(err)
			continue
		}
		resp.Body.Close()
	}
}

// waitUntilUp waits until something listens on addr.
func waitUntilUp(addr string, ended chan error) error {
	for end := time.Now().Add(wait); time.Now().Before(end); {
		if c, err := net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
		select {
		case err := <-ended:
			ended <- err
			return fmt.Errorf("it ended: %w", err)
		default:
		}
		time.Sleep(20 * time.Millisecond) // between two looks
	}
	return fmt.Errorf("gave up after %v: it doesn't listen on %s", wait, addr)
}

// talk runs the commands of a console block and compares what they print.
func (p *program) talk(t *testing.T, b block, dir string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(strings.NewReplacer(p.ports...).Replace(b.text), "\n"), "\n")
	for i := 0; i < len(lines); {
		command, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			t.Fatalf("%s:%d: no command", b.doc, b.line+i)
		}
		at := b.line + i
		i++
		for strings.HasSuffix(command, "\\") && i < len(lines) {
			command += "\n" + lines[i]
			i++
		}
		var want []string
		for ; i < len(lines) && !strings.HasPrefix(lines[i], "$ "); i++ {
			want = append(want, lines[i])
		}
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CURL_HOME="+dir)
		out, err := cmd.CombinedOutput()
		cancel()
		if ctx.Err() == context.DeadlineExceeded {
			t.Errorf("%s:%d: it takes too long: %v", b.doc, at, err)
		}
		got := strings.TrimRight(strings.ReplaceAll(string(out), "\r\n", "\n"), "\n")
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(strings.Join(want, "\n"), "\n")), `\.\.\.`, `.*`)
		if !regexp.MustCompile(`(?s)^` + pattern + `$`).MatchString(got) {
			t.Errorf("%s:%d: %s\nprints\n%s\nwant\n%s", b.doc, at, command, got, strings.Join(want, "\n"))
		}
	}
}

// writeFiles writes a certificate, its key, and settings of curl: without a terminal it
// would show its progress.
func writeFiles(t *testing.T, dir string) {
	t.Helper()
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"cert.pem": cert, "key.pem": key, ".curlrc": []byte("silent\nshow-error\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
