// Package servers has the servers that the lab compares: how each is built and started, what
// it can do, and its process.
//
// The programs in Go are in the folders below, one package each, and share package work.
package servers

import (
	"fmt"
	"os/exec"
	"slices"

	"github.com/galehttp/gale/lab/plan"
)

// Server is one that can be compared.
type Server struct {
	Name string
	What string // in a few words

	pkg string   // package of the lab's module, if it is in Go
	dir string   // folder below servers/: a module of its own, or a cargo project
	env []string // for its process
	// tool is the program that must be installed to run or to build it.
	tool string
	// build makes the program and returns its path. args returns its arguments.
	build func(s *Server, b *Builder) (string, error)
	args  func(s *Server, b *Builder, o Options) ([]string, error)

	without []string // paths that it doesn't answer
	tls     string   // why it has no TLS, empty if it has
	h2      string   // why it has no HTTP/2 over TLS
	h2c     string   // why it has no HTTP/2 in the clear
	files   string   // why it serves no files
	proxy   string   // why it is no proxy
	ws      string   // why it has no WebSocket
	onlyWS  bool     // it has nothing else
}

// Go reports whether the server needs nothing but Go.
func (s *Server) Go() bool { return s.tool == "go" }

// Baseline is the server that ratios compare with.
const Baseline = "nethttp"

const (
	noHTTP2 = "it has no HTTP/2"
	noProxy = "it is no proxy"
	dynamic = "it runs no handlers"
	noWS    = "its WebSocket is not set up here"
)

var all = []*Server{
	{
		Name: "gale-event", What: "Gale, its event engine, the default on Linux", pkg: "./servers/gale",
		tool: "go", build: buildGo, args: goArgs, env: []string{"LAB_ENGINE=event"},
	},
	{
		Name: "gale-block", What: "Gale, one goroutine for each connection", pkg: "./servers/gale",
		tool: "go", build: buildGo, args: goArgs, env: []string{"LAB_ENGINE=block"},
	},
	{
		Name: "gale-compat", What: "Fiber 2 on Gale, by compat/fasthttp", dir: "compat",
		tool: "go", build: buildGo, args: goArgs,
		h2: "Fiber doesn't turn it on", h2c: "Fiber doesn't turn it on", proxy: noProxy, ws: noWS,
	},
	{
		Name: "gale-nethttp", What: "a net/http handler on Gale, by adaptor", pkg: "./servers/galenethttp",
		tool: "go", build: buildGo, args: goArgs,
	},
	{
		Name: "fasthttp", What: "fasthttp", pkg: "./servers/fasthttp",
		tool: "go", build: buildGo, args: goArgs, h2: noHTTP2, h2c: noHTTP2, proxy: noProxy,
	},
	{
		Name: Baseline, What: "net/http", pkg: "./servers/nethttp",
		tool: "go", build: buildGo, args: goArgs,
	},
	{
		Name: "fiber", What: "Fiber 2 on fasthttp", pkg: "./servers/fiber",
		tool: "go", build: buildGo, args: goArgs, h2: noHTTP2, h2c: noHTTP2, proxy: noProxy, ws: noWS,
	},
	{
		Name: "gws", What: "gws on net/http, for WebSocket only", pkg: "./servers/gws",
		tool: "go", build: buildGo, args: goArgs, onlyWS: true,
	},
	{
		Name: "coder", What: "coder/websocket on net/http, for WebSocket only", pkg: "./servers/coder",
		tool: "go", build: buildGo, args: goArgs, onlyWS: true,
	},
	{
		Name: "hertz", What: "Hertz on netpoll", pkg: "./servers/hertz",
		tool: "go", build: buildGo, args: goArgs, without: []string{"/compress"},
		tls: "netpoll has no TLS", h2: "its HTTP/2 is a module apart", h2c: "its HTTP/2 is a module apart", proxy: noProxy, ws: noWS,
	},
	{
		Name: "nginx", What: "nginx", tool: "nginx", build: installed, args: nginxArgs,
		without: []string{"/sleep", "/echo", "/upload", "/collect", "/json", "/compress"}, ws: noWS,
	},
	{
		Name: "h2o", What: "h2o, which answers from a file", tool: "h2o", build: installed, args: h2oArgs,
		without: []string{"/sleep", "/echo", "/upload", "/collect", "/json", "/compress"}, proxy: "its proxy is not set up here", ws: noWS,
	},
	{
		Name: "actix-web", What: "actix-web", dir: "actix", tool: "cargo", build: buildCargo, args: workersArgs,
		without: []string{"/compress"}, tls: "not built with TLS", h2: "not built with TLS", h2c: "it needs another listener", files: "actix-files is a crate apart", proxy: noProxy, ws: noWS,
	},
	{
		Name: "hyper", What: "hyper on tokio", dir: "hyper", tool: "cargo", build: buildCargo, args: workersArgs,
		without: []string{"/compress"}, tls: "it has no TLS of its own", h2: "it has no TLS of its own", files: "it serves no files", proxy: noProxy, ws: noWS,
	},
	{
		Name: "node", What: "Node's module http", dir: "node", tool: "node", build: installed, args: nodeArgs,
		tls: "only node:http is set up here", h2: "only node:http is set up here", h2c: "only node:http is set up here",
		files: "node:http serves no files", proxy: noProxy, ws: noWS,
	},
}

// All returns the servers in the order of reports.
func All() []*Server { return slices.Clone(all) }

// Names returns the names of all servers.
func Names() (names []string) {
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// Find returns the server with a name, or an error that lists the names.
func Find(name string) (*Server, error) {
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("there is no server %q: there are %q", name, Names())
}

// Missing says why s can't run on this machine, "" if it can.
func (s *Server) Missing() string {
	if Path(s.tool) == "" {
		return s.tool + " is not installed"
	}
	return ""
}

// Lacks says why s can't serve c, "" if it can.
func (s *Server) Lacks(c *plan.Case) string {
	n := &c.Needs
	switch {
	case c.Load.WebSocket:
		return s.ws
	case s.onlyWS:
		return "it serves WebSockets only"
	case slices.Contains(s.without, c.Request.Path) && (s.Name == "nginx" || s.Name == "h2o"):
		return dynamic
	case slices.Contains(s.without, c.Request.Path):
		return "it has no " + c.Request.Path
	case n.Proxy:
		return s.proxy
	case n.Files:
		return s.files
	case n.TLS && n.HTTP2 && s.tls == "":
		return s.h2
	case n.TLS:
		return s.tls
	case n.HTTP2:
		return s.h2c
	}
	return ""
}

// Path returns where a program is, "" if it is not installed. Servers may be where only
// root looks.
func Path(name string) string {
	for _, p := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if path, err := exec.LookPath(p); err == nil {
			return path
		}
	}
	return ""
}
