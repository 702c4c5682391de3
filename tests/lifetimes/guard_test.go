package lifetimes

import (
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// outcome is what a run came to.
type outcome struct {
	output  string // of the process
	shown   string // what the program showed or logged
	ended   bool   // the process ended by itself, at its end
	reports []string
}

// runs returns the programs with what their comments say.
func runs(t *testing.T) []program {
	t.Helper()
	all := sources(t)
	list := slices.Clone(programs)
	for i := range list {
		list[i].run = all[list[i].name].run
	}
	return list
}

// start runs a program in a process of its own, because a fault ends it.
func (p *program) start(t *testing.T, s scenario) (o outcome) {
	t.Helper()
	s.Program, s.Run = p.name, p.run
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+string(text), "GORACE=exitcode=0 atexit_sleep_ms=0")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	err = cmd.Wait()
	kill.Stop()
	before, after, found := strings.Cut(out.String(), "\nSHOWN ")
	o.output, o.ended = out.String(), err == nil && found
	if found {
		line, rest, _ := strings.Cut(after, "\n")
		before += "\n" + rest
		if err := json.Unmarshal([]byte(line), &o.shown); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(before) {
		if report.MatchString(line) {
			o.reports = append(o.reports, line)
		}
	}
	return o
}

// hasPages reports whether the guard has pages on this system.
func hasPages() bool { return runtime.GOOS == "linux" }

// TestBadPrograms: the guard reports each bad program whose mistake is one with memory of
// Gale. Without the race detector, each request is on pages of its own. With it, this runs
// with the guard that such programs have by default: it logs, and overwrites the bytes.
func TestBadPrograms(t *testing.T) {
	for _, p := range runs(t) {
		if !p.bad() {
			continue
		}
		for _, s := range scenarios(&p) {
			t.Run(p.name+s.name(), func(t *testing.T) {
				t.Parallel()
				o := p.start(t, s)
				switch p.kind() {
				case "framework", "stream":
					t.Logf("%d reports, shown %q", len(o.reports), o.shown)
				case "paged":
					if s.Guard && hasPages() {
						checkReport(t, o)
					}
				case "bytes":
					if s.Guard && hasPages() {
						checkReport(t, o)
					} else if hasUser(o.shown) {
						t.Errorf("bytes of a request that ended: %q\n%s", o.shown, o.output)
					}
				default:
					checkReport(t, o)
				}
			})
		}
	}
}

// scenarios are the runs of a program under a guard: in memory and over TCP. With pages,
// goroutines of the program use what it kept too, not only handlers.
func scenarios(p *program) []scenario {
	list := []scenario{{Guard: !raceEnabled}, {Guard: !raceEnabled, TCP: true}}
	if !raceEnabled && p.show != nil {
		list = append(list, scenario{Guard: true, Outside: true})
	}
	return list
}

func (s *scenario) name() string {
	name := "/memory"
	if s.TCP {
		name = "/tcp"
	}
	if s.Outside {
		name += "/outside"
	}
	return name
}

// checkReport checks that there is a report, and that it says where the memory came from.
func checkReport(t *testing.T, o outcome) {
	t.Helper()
	if len(o.reports) == 0 {
		t.Errorf("no report; shown %q\n%s", o.shown, o.output)
		return
	}
	for _, r := range o.reports {
		if strings.Contains(r, "after the handler returned") && !strings.Contains(r, "/users/") {
			t.Errorf("the report doesn't name the request: %s", r)
		}
	}
}

// TestGoodPrograms: the guard reports nothing in good programs and changes nothing.
func TestGoodPrograms(t *testing.T) {
	for _, p := range runs(t) {
		if p.bad() {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			// With the race detector there is no run without a guard.
			want := p.start(t, scenario{})
			checkGood(t, want)
			for _, s := range scenarios(&p) {
				o := p.start(t, s)
				checkGood(t, o)
				if sorted(o.shown) != sorted(want.shown) {
					t.Errorf("%s: shown %q, want %q", s.name(), o.shown, want.shown)
				}
			}
		})
	}
}

func checkGood(t *testing.T, o outcome) {
	t.Helper()
	for _, r := range o.reports {
		t.Errorf("report: %s", r)
	}
	if !o.ended || !hasUser(o.shown) {
		t.Errorf("shown %q\n%s", o.shown, o.output)
	}
}

func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
