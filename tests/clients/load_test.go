package clients

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each load generator runs for a moment and must report no error.

func TestAB(t *testing.T) {
	t.Parallel()
	ab := find(t, "ab")
	dir, _, random := site(t)
	files, contract := serveFiles(t, dir, "-log", "off"), serveContract(t, dir)
	upload := filepath.Join(t.TempDir(), "up.bin")
	if err := os.WriteFile(upload, random[:100_000], 0o644); err != nil {
		t.Fatal(err)
	}
	count := regexp.MustCompile(`(?m)^(Complete requests|Failed requests|Keep-Alive requests|Non-2xx responses|Write errors): +(\d+)$`)
	for _, c := range []struct {
		name string
		args []string
		n    int
		kept bool
	}{
		{"a connection each", []string{"-n", "500", files.url + "/" + helloName}, 500, false},
		{"keep-alive", []string{"-n", "3000", "-k", files.url + "/" + helloName}, 3000, true},
		{"keep-alive, large", []string{"-n", "50", "-k", files.url + "/" + randName}, 50, true},
		{"keep-alive, HEAD", []string{"-n", "500", "-k", "-i", files.url + "/" + randName}, 500, true},
		{"keep-alive, posts", []string{"-n", "100", "-k", "-p", upload, "-T", "text/plain", contract.url + "/up"}, 100, true},
		// HTTP/1.0 has no chunks: a body of unknown length ends with the connection.
		{"streams", []string{"-n", "200", "-k", contract.url + "/stream"}, 200, false},
	} {
		out := run(t, ab, append([]string{"-q", "-c", "8"}, c.args...)...)
		got := map[string]int{}
		for _, m := range count.FindAllStringSubmatch(out, -1) {
			got[m[1]], _ = strconv.Atoi(m[2])
		}
		kept := 0
		if c.kept {
			kept = c.n
		}
		if got["Complete requests"] != c.n || got["Failed requests"]+got["Non-2xx responses"]+got["Write errors"] > 0 || got["Keep-Alive requests"] != kept {
			t.Errorf("%s: %v\n%s", c.name, got, out)
		}
	}
}

func TestWrk(t *testing.T) {
	t.Parallel()
	wrk := find(t, "wrk")
	dir, _, _ := site(t)
	files, contract := serveFiles(t, dir, "-log", "off"), serveContract(t, dir)
	secure := serveFiles(t, dir, "-log", "off", "-tls-self-signed")
	requests := regexp.MustCompile(`(\d+) requests in`)
	for _, c := range []struct {
		name string
		args []string
	}{
		{"small file", []string{files.url + "/" + helloName}},
		{"large file", []string{files.url + "/" + randName}},
		{"TLS", []string{secure.url + "/" + helloName}},
		{"echo", []string{contract.url + "/echo"}},
		{"streams", []string{contract.url + "/stream"}},
		{"pipelined", []string{"-s", "testdata/pipeline.lua", contract.url}},
	} {
		out := run(t, wrk, append([]string{"-t", "2", "-c", "16", "-d", "1s", "--timeout", "30s"}, c.args...)...)
		m := requests.FindStringSubmatch(out)
		if m == nil || m[1] == "0" || strings.Contains(out, "Socket errors") || strings.Contains(out, "Non-2xx") {
			t.Errorf("%s: %s", c.name, out)
		}
	}
}
