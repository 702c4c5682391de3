package fiber

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// build makes the programs on fasthttp and on Gale, and returns the folder that has them.
func build(t *testing.T) string {
	t.Helper()
	out := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// A second go.mod, with the lines that docs/moving/from-fiber.md has for users.
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var sums []byte
	for _, file := range []string{"go.sum", "../../go.sum", "../../compat/fasthttp/go.sum"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, b...)
	}
	mod = fmt.Appendf(mod, "\nreplace github.com/valyala/fasthttp => %s/compat/fasthttp\nreplace github.com/galehttp/gale => %s\n", root, root)
	for name, b := range map[string][]byte{"gale.mod": mod, "gale.sum": sums} {
		if err := os.WriteFile(filepath.Join(out, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "GOWORK=off")
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, b)
		}
	}
	// Names of one length, since they are in answers.
	for _, dir := range []string{"peer", "ours"} {
		if err := os.Mkdir(filepath.Join(out, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run("build", "-o", filepath.Join(out, "peer"), "./fiber2", "./fiber3")
	run("build", "-mod=mod", "-modfile="+filepath.Join(out, "gale.mod"), "-o", filepath.Join(out, "ours"), "./fiber2", "./fiber3")
	return out
}

// modified is the time of all files that the programs serve.
var modified = time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)

// files makes the folder that a program serves.
func files(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"a.txt":           "0123456789abcdefghij",
		"big.txt":         strings.Repeat("a line of some text\n", 3000),
		"empty":           "",
		"data.json":       `{"a":1}`,
		"a b.txt":         "with a space",
		"q?.txt":          "with a question mark",
		"site/index.html": "<h1>index</h1>",
		"list/b.txt":      "b",
		"list/x<y>.txt":   "c",
		"list/sub/d.txt":  "d",
		".hidden":         "hidden",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{name, filepath.Dir(name)} {
			if err := os.Chtimes(path, modified, modified); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, path := range []string{dir + "/list", dir} {
		if err := os.Chtimes(path, modified, modified); err != nil {
			t.Fatal(err)
		}
	}
}

// A server is a program that runs.
type server struct {
	name    string
	addrs   map[string]string // by the names of its applications
	dir     string
	program string
	log     *strings.Builder
}

// start runs a program until the end of the test.
func start(t *testing.T, name, program, dir string) *server {
	t.Helper()
	files(t, dir)
	s := &server{name: name, dir: dir, program: program, log: new(strings.Builder)}
	cmd := exec.Command(program, dir)
	cmd.Env = []string{"PATH=/nowhere", "TMPDIR=" + os.TempDir()}
	cmd.Stderr = s.log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		err := cmd.Wait()
		if err != nil || t.Failed() {
			t.Logf("%s: %v\n%.4000s", name, err, s.log)
		}
		if err != nil {
			t.Fail()
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	addrs := strings.Fields(line)
	if err != nil || len(addrs) != 3 {
		t.Fatalf("%s said %q, %v", name, line, err)
	}
	go io.Copy(io.Discard, out)
	s.addrs = map[string]string{"": addrs[0], "stream": addrs[1], "own": addrs[2]}
	return s
}

// ask sends the request to the server, and takes what is its own out of the answers.
func (s *server) ask(r *request) (transcript, error) {
	t, err := ask(s.addrs[r.app], r)
	for i := range t.answers {
		a := &t.answers[i]
		a.body = s.anonymous(a.body)
		for j := range a.fields {
			a.fields[j] = s.anonymous(a.fields[j])
		}
		for _, v := range varying {
			v.hide(a)
		}
	}
	return t, err
}

// anonymous replaces the addresses, the folder and the program of the server. They are as long as
// those of the other one.
func (s *server) anonymous(text string) string {
	for app, addr := range s.addrs {
		text = strings.ReplaceAll(text, addr, "ADDRESS-"+app)
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, s.dir, "DIR"), s.program, "PROGRAM")
}

func TestFiber(t *testing.T) {
	page, err := os.ReadFile("../../docs/moving/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !strings.Contains(string(page), "\n| "+r.what+" |") {
			t.Errorf("docs/moving/differences.md has no row %q", r.what)
		}
	}
	programs := build(t)
	full := os.Getenv("GALE_FULL") != ""
	met := make(map[string]bool)
	requested, equal := 0, 0
	for _, version := range []string{"fiber2", "fiber3"} {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			peer := start(t, "fasthttp", filepath.Join(programs, "peer", version), filepath.Join(dir, "peer"))
			ours := start(t, "gale", filepath.Join(programs, "ours", version), filepath.Join(dir, "ours"))
			names := make(map[string]bool)
			for _, r := range requests {
				if r.only != "" && r.only != version || !full && !r.short {
					continue
				}
				if names[r.name] {
					t.Fatalf("two requests are called %q", r.name)
				}
				names[r.name] = true
				requested++
				p := pair{request: &r}
				var errs [2]error
				var both sync.WaitGroup
				both.Go(func() { p.peer, errs[0] = peer.ask(&r) })
				both.Go(func() { p.ours, errs[1] = ours.ask(&r) })
				both.Wait()
				if errs[0] != nil || errs[1] != nil {
					t.Fatalf("%s: %v, %v", r.name, errs[0], errs[1])
				}
				before := p.String()
				if p.equal() {
					equal++
				}
				for _, row := range rows {
					if !p.equal() && row.remove(&p) {
						row.seen++
						met[row.what] = true
					}
				}
				if !p.equal() {
					t.Errorf("%s: this difference has no row in docs/moving/differences.md\n%q\n%s\n\nwithout the differences that have a row:\n%s", r.name, r.send, before, p.String())
				}
			}
		})
	}
	t.Logf("%d requests, %d equal answers, %d rows of differences", requested, equal, len(met))
	for _, row := range rows {
		if row.seen > 0 {
			t.Logf("%4d %s", row.seen, row.what)
		} else if full {
			t.Errorf("no request meets the row %q", row.what)
		}
	}
}
