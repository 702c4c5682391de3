package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// libraryModules are the modules that programs with this library compile. What only the
// command or a test needs isn't among them, although go.mod has it.
var libraryModules = []string{
	module,
	"github.com/andybalholm/brotli",
	"github.com/klauspost/compress",
	"golang.org/x/net",
	"golang.org/x/sys",
	"golang.org/x/text", // package idna of golang.org/x/net imports it
}

// TestLibraryModules proves that no package of the library depends on another module, or
// on the command, directly or through others, on any system.
func TestLibraryModules(t *testing.T) {
	for _, system := range []string{"linux", "darwin", "windows"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			packages := listPackages(t, system)
			used := map[string]bool{}
			for _, p := range packages {
				if !isLibrary(p.ImportPath) {
					continue
				}
				for _, dep := range p.Deps {
					m := packages[dep].Module
					if m == nil {
						continue // the standard library
					}
					used[m.Path] = true
					if !slices.Contains(libraryModules, m.Path) {
						t.Errorf("%s depends on %s, of a module that the library doesn't have", p.ImportPath, dep)
					}
					if strings.HasPrefix(dep, module+"/cmd/") || isMeasure(dep) {
						t.Errorf("%s depends on %s, a part of the command", p.ImportPath, dep)
					}
				}
			}
			for _, m := range libraryModules {
				if !used[m] {
					t.Errorf("no package of the library depends on %s any more: remove it from the list", m)
				}
			}
		})
	}
}

// dependent is the go command's description of a package and of all that it depends on.
type dependent struct {
	ImportPath string
	Deps       []string
	Module     *struct{ Path string }
}

// listPackages returns all packages of the module and those that they depend on, by
// their paths.
func listPackages(t *testing.T, system string) map[string]dependent {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Deps,Module", "./...")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]dependent{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p dependent
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
	if _, ok := all[module+"/cmd/gale"]; !ok {
		t.Fatalf("no package of the command among %d", len(all))
	}
	return all
}
