package main

import (
	"bufio"
	"strings"
	"testing"
)

const sample = `goos: linux
BenchmarkServer/perconn=2/extra=0/impl=gale-2      	 100	 200.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkServer/perconn=2/extra=0/impl=gale-2      	 100	 400.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkServer/perconn=2/extra=0/impl=gale-2      	 100	 100.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkServer/perconn=2/extra=0/impl=fasthttp-2  	 100	 500.0 ns/op	 6 B/op	 1 allocs/op
BenchmarkServer/perconn=2/extra=0/impl=fasthttp-2  	 100	 600.0 ns/op	 6 B/op	 1 allocs/op
BenchmarkServer/perconn=2/extra=0/impl=fasthttp-2  	 100	 400.0 ns/op	 6 B/op	 1 allocs/op
BenchmarkServer/perconn=2/extra=4/impl=gale-2      	 100	 250.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkServer/perconn=2/extra=4/impl=fasthttp-2  	 100	 600.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkParse/impl=gale   	 100	 50.0 ns/op	 90.1 MB/s	 0 B/op	 0 allocs/op
BenchmarkParse/impl=fasthttp   	 100	 130.0 ns/op	 90.1 MB/s	 0 B/op	 0 allocs/op
BenchmarkParse/impl=reset   	 100	 30.0 ns/op	 0 B/op	 0 allocs/op
PASS
`

func TestTables(t *testing.T) {
	s, failed, err := parse(bufio.NewScanner(strings.NewReader(sample)))
	if err != nil || failed {
		t.Fatal(failed, err)
	}
	s.subtractReset()
	var out strings.Builder
	s.printTimes(&out)
	s.printAdded(&out)
	s.printMarkdown(&out)
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"Server/perconn=2/extra=0 2 200.0 ns 0 500.0 ns 1 2.50 (1.50 to 4.00)", // the medians
		"Parse 1 50.0 ns 0 100.0 ns 0 2.00",                                    // less the reset
		"Server/perconn=2/extra=4 2 50.0 ns 100.0 ns 50 %",                     // what was added
		"Server/perconn=2/extra=4 2 250.0 ns 0 600.0 ns 0 2.40",                // its own row
		"| `Server/perconn=2/extra=0` | 2 | 2.50 (1.50 to 4.00) | - |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

func TestFailedRun(t *testing.T) {
	_, failed, _ := parse(bufio.NewScanner(strings.NewReader("--- FAIL: BenchmarkServer\n")))
	if !failed {
		t.Error("a failed run passed")
	}
}
