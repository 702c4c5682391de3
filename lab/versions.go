package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/galehttp/gale/lab/servers"
)

// modules are those whose versions a report names.
var modules = []string{"github.com/valyala/fasthttp", "github.com/gofiber/fiber/v2", "github.com/cloudwego/hertz", "github.com/cloudwego/netpoll",
	"github.com/gorilla/websocket", "github.com/fasthttp/websocket", "github.com/lxzan/gws", "github.com/coder/websocket"}

// versions notes the versions of what is compared. What can't be told is left out.
func (r *runner) versions() {
	v := r.folder.Index.Versions
	v["Go"] = runtime.Version()
	if out := r.output("git", "describe", "--always", "--dirty"); out != "" {
		v["Gale"] = out
	}
	for line := range strings.Lines(r.output("go", append([]string{"list", "-m"}, modules...)...)) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			v[name] = version
		}
	}
	for _, s := range r.servers {
		switch s.Name {
		case "nginx":
			v["nginx"] = strings.TrimPrefix(r.output(servers.Path("nginx"), "-v"), "nginx version: nginx/")
		case "h2o":
			line, _, _ := strings.Cut(r.output(servers.Path("h2o"), "-v"), "\n")
			v["h2o"] = strings.TrimPrefix(line, "h2o version ")
		case "node":
			v["Node"] = r.output("node", "-v")
		case "actix-web", "hyper":
			v[s.Name] = r.crate(s.Name)
			v["rustc"] = r.output("rustc", "-V")
		}
	}
}

// crate returns the version of a crate in the lock file of its server.
func (r *runner) crate(name string) string {
	folder := strings.TrimSuffix(name, "-web")
	lines := strings.Split(readText(filepath.Join(r.o.lab, "servers", folder, "Cargo.lock")), "\n")
	for i, line := range lines {
		if line == `name = "`+name+`"` && i+1 < len(lines) {
			return strings.Trim(strings.TrimPrefix(lines[i+1], "version = "), `"`)
		}
	}
	return ""
}

// output returns what a command prints, to either of its outputs.
func (r *runner) output(name string, args ...string) string {
	cmd := exec.CommandContext(r.ctx, name, args...)
	cmd.Dir = r.o.lab
	out, err := cmd.CombinedOutput()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
