//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// A step that has what .ci/known.txt lists passes if that fails, and nothing else does.
func TestKnown(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		known        []string
		passes       bool
		want         []string
	}{
		{
			name: "not forgiven", script: "TRIES=1 go_test run -run=TestMark .", known: []string{"TestMark"},
			want: []string{"=== a failed: p: NOT FORGIVEN: a byte of another\n", "failed: a\nFAIL\n"},
		},
		{
			name: "fails as listed", script: "TRIES=333 go_test run -run='TestOne|TestLogs' .", known: []string{"TestOne"}, passes: true,
			want: []string{"  FAIL\tp\t", "fails, as known: TestOne\n", "1 passed, 1 failed, 0 skipped\n", "=== known to fail, .ci/known.txt says why\na: 1\n", "PASS\n"},
		},
		{
			name: "another fails once", script: "TRIES=1 go_test run -run='TestOne|TestTwo' .", known: []string{"TestOne"}, passes: true,
			want: []string{"=== a: again, alone: p TestTwo\n", "passed, flaky: 1\nPASS\n"},
		},
		{
			name: "another fails", script: "TRIES=333 go_test run -run='TestOne|TestTwo' .", known: []string{"TestOne"},
			want: []string{"=== a failed: p TestTwo: got 1, want 2; again: ", "failed: a\nFAIL\n"},
		},
		{
			name: "passes", script: "TRIES= go_test run -run='TestOne|TestTwo' .", known: []string{"TestOne"},
			want: []string{"=== a failed: a TestOne: it doesn't fail: take it out of .ci/known.txt\n", "failed: a\nFAIL\n"},
		},
		{
			name: "fails in one of two runs", script: "TRIES=1 go_test run -run=TestOne .; TRIES=1 go_test run2 -run=TestOne .", known: []string{"TestOne"}, passes: true,
			want: []string{"PASS\n"},
		},
		{
			name: "doesn't run", script: "TRIES= go_test run -run=TestTwo .", known: []string{"TestOne"},
			want: []string{"=== a failed: a TestOne: it doesn't fail: ", "failed: a\nFAIL\n"},
		},
		{
			name: "a step that runs no go test", script: `echo "fails, as known: $CI_KNOWN"`, known: []string{"TestOne"}, passes: true,
			want: []string{"PASS\n"},
		},
		{name: "the step is left out", script: `left_out "the whole step: why"; exit 77`, known: []string{"TestOne"}, passes: true, want: []string{"PASS\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, out := job(t, "cd module; export GALE_SAME=yes; "+tt.script)
			write(t, r.dir, "module/go.mod", "module p\n\ngo 1.26\n")
			write(t, r.dir, "module/p_test.go", againModule)
			for _, name := range tt.known {
				r.steps[0].known = append(r.steps[0].known, knownTest{name, "why"})
			}
			if passed := runJob(t, r); passed != tt.passes {
				t.Errorf("passed: %v", passed)
			}
			wantLines(t, out.String(), tt.want...)
			if tt.passes && strings.Contains("\n"+out.String(), "\nFAIL") {
				t.Errorf("a line begins with FAIL, and all passed:\n%s", out)
			}
		})
	}
}

func TestReadKnown(t *testing.T) {
	steps, err := readSteps("../../.ci/steps.txt", "../../.ci/steps")
	if err != nil {
		t.Fatal("reading the steps:", err)
	}
	if err := readKnown("../../.ci/known.txt", steps); err != nil {
		t.Error("reading .ci/known.txt:", err)
	}
	for name, tt := range map[string]struct{ list, err string }{
		"right":            {list: "# why\n\na TestA/x#01  no reader\na TestB no writer\n"},
		"no reason":        {"a TestA\n", "the reason"},
		"an unknown step":  {"c TestA why\n", "c is no step of the full tier"},
		"one of the gate":  {"b TestA why\n", "b is no step of the full tier"},
		"twice":            {"a TestA why\na TestA why\n", "it is there twice"},
		"without the list": {"", "no such file"},
	} {
		list := filepath.Join(t.TempDir(), "list")
		if tt.list != "" {
			write(t, filepath.Dir(list), "list", tt.list)
		}
		steps := []*step{{name: "a", full: true}, {name: "b"}}
		err := readKnown(list, steps)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := steps[0].known; err != nil || len(got) != 2 || got[0] != (knownTest{"TestA/x#01", "no reader"}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
