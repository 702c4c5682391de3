package main

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseLoads(t *testing.T) {
	if got, err := parseLoads("16x1,64x100"); err != nil || !slices.Equal(got, []http2Load{{16, 1}, {64, 100}}) {
		t.Error(got, err)
	}
	for _, text := range []string{"", "16", "16x", "x1", "0x1", "1x0", "1x1,"} {
		if got, err := parseLoads(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestFollow: what h2load 1.52 writes.
func TestFollow(t *testing.T) {
	const proto, begins, ends = "Application protocol: h2c\n", "Main benchmark duration is started for thread #0.\n", "Main benchmark duration is over for thread #0. Stopping all clients.\n"
	for _, tt := range []struct {
		name, out string
		requests  int // 0 for an error
	}{
		{"whole", proto + begins + ends + "requests: 70 total, 70 started, 70 done, 70 succeeded, 0 failed, 0 errored, 0 timeout\n", 70},
		{"never began", proto + "requests: 70 total, 70 started, 70 done, 70 succeeded, 0 failed, 0 errored, 0 timeout\n", 0},
		{"other statuses", proto + begins + ends + "requests: 70 total, 70 started, 70 done, 60 succeeded, 10 failed, 0 errored, 0 timeout\n", 0},
		{"errors", proto + begins + ends + "requests: 70 total, 70 started, 60 done, 60 succeeded, 10 failed, 10 errored, 0 timeout\n", 0},
		{"HTTP/1.1", "Application protocol: http/1.1\n" + begins + ends + "requests: 70 total, 70 started, 70 done, 70 succeeded, 0 failed, 0 errored, 0 timeout\n", 0},
		{"no connection", "unable to connect\n", 0},
	} {
		used := time.Duration(0)
		got, err := follow(strings.NewReader(tt.out), func() time.Duration { used++; return used })
		if got.requests != tt.requests && tt.requests != 0 || (err == nil) != (tt.requests != 0) {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
}

func TestInstalled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the program is for Linux")
	}
	t.Setenv("PATH", t.TempDir())
	if got := installed(http2Servers); got != nil {
		t.Errorf("without h2load: %v", got)
	}
	if err := os.WriteFile(os.Getenv("PATH")+"/h2load", nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := installed("gale-event,no-such-server,nethttp"); !slices.Equal(got, []string{"gale-event", "nethttp"}) {
		t.Error(got)
	}
}
