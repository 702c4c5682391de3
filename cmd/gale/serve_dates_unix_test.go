//go:build unix

package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

// TestServeDatesOfCopies: a file that came with an old date, as copies do, is not modified for a client that
// sends exactly this date, and a range of it may be asked for by that. While its last change is so young that
// another could follow in the same second, it has no date, and no condition with one holds.
func TestServeDatesOfCopies(t *testing.T) {
	const text = "0123456789"
	for _, engine := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			dir := site(t, map[string]string{"copy.txt": text})
			p := serve(t, dir, "-engine", engine)
			old := time.Now().Add(-2 * time.Hour).UTC()
			date := old.Format(http.TimeFormat)
			conditions := []struct {
				fields []string
				status int
				body   string
				other  int // for another date
			}{
				{[]string{"If-Modified-Since: "}, 304, "", 200},
				{[]string{"Range: bytes=1-2", "If-Range: "}, 206, "12", 200},
				{[]string{"If-Unmodified-Since: "}, 200, text, 412},
			}
			with := func(fields []string, date string) (*http.Response, string) {
				fields = append([]string(nil), fields...)
				fields[len(fields)-1] += date
				return p.do("GET", "/copy.txt", fields...)
			}
			young := 0
			await.Until(t, "the date", func() bool {
				if young == 0 { // also if the system was slow
					if err := os.Chtimes(filepath.Join(dir, "copy.txt"), old, old); err != nil {
						t.Fatal("setting the date:", err)
					}
				}
				for _, c := range conditions[:2] {
					resp, body := with(c.fields, date)
					if resp.Header.Get("Last-Modified") != "" {
						return young > 0
					}
					if young++; resp.StatusCode != 200 || body != text {
						t.Errorf("%s, young: %d %q", c.fields, resp.StatusCode, body)
					}
				}
				return false
			})
			if got := p.waitFor("Last-Modified", "/copy.txt"); got != date {
				t.Fatalf("Last-Modified is %s, want %s", got, date)
			}
			for _, c := range conditions {
				if resp, body := with(c.fields, date); resp.StatusCode != c.status || body != c.body {
					t.Errorf("%s: %d %q, want %d", c.fields, resp.StatusCode, body, c.status)
				}
				if resp, _ := with(c.fields, old.Add(-time.Second).Format(http.TimeFormat)); resp.StatusCode != c.other {
					t.Errorf("%s, another date: %d, want %d", c.fields, resp.StatusCode, c.other)
				}
			}
		})
	}
}
