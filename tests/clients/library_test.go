package clients

import (
	"os/exec"
	"testing"
)

// For clients that are libraries there are programs in testdata, which check the results
// themselves.

func TestHTTPX(t *testing.T) {
	t.Parallel()
	python := find(t, "python3", "python")
	if exec.CommandContext(t.Context(), python, "-c", "import httpx").Run() != nil {
		t.Skipf("not installed: httpx in %s", python)
	}
	runLibrary(t, python, "testdata/httpx_client.py")
}

func TestUndici(t *testing.T) {
	t.Parallel()
	node := find(t, "node", "nodejs")
	if exec.CommandContext(t.Context(), node, "-e", `require("undici")`).Run() != nil {
		t.Skipf("not installed: undici for %s (NODE_PATH)", node)
	}
	runLibrary(t, node, "testdata/undici_client.cjs")
}

func runLibrary(t *testing.T, program, script string) {
	t.Helper()
	dir, _, _ := site(t)
	files, contract := serveFiles(t, dir), serveContract(t, dir)
	t.Log(run(t, program, script, files.url, contract.url, dir))
}
