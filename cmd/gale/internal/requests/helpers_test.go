package requests

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/galehttp/gale/cmd/gale/internal/load"
	"github.com/galehttp/gale/internal/h1"
)

// writeFile writes a file and returns its path.
func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readData(t testing.TB, text string, random bool) *Data {
	t.Helper()
	d, err := ReadData(writeFile(t, "data.csv", text), random)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// wire returns the request with number n as HTTP/1.1.
func wire(s *Source, n int64) string {
	var r load.Request
	s.Fill(&r, n)
	return string(h1.AppendRequestHead(nil, &r.Head)) + string(r.Body)
}
