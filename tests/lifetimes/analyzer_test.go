package lifetimes

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What the analyzer must reach, in percent of the programs.
const (
	wantFound  = 90
	wantAlarms = 5
)

var finding = regexp.MustCompile(`^(?:vet: )?(?:\./)?(\S+\.go):(\d+)(?::\d+)?: (.*)$`)

// TestAnalyzer: galevet reports enough of the bad programs, and few of the good ones.
func TestAnalyzer(t *testing.T) {
	galevet := filepath.Join(t.TempDir(), "galevet")
	build := exec.Command("go", "build", "-o", galevet, ".")
	build.Dir = filepath.Join("..", "..", "cmd", "galevet")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	findings := analyze(t, galevet)
	var bad, found, good, alarms int
	for _, s := range byName(sources(t)) {
		if strings.HasPrefix(s.name, "good/") {
			good++
			if reports := within(findings, s.name); len(reports) > 0 {
				alarms++
				t.Logf("alarm in %s (%s, level %d):\n\t%s", s.name, s.category, s.level, strings.Join(reports, "\n\t"))
			}
			continue
		}
		bad++
		if missed := s.missed(findings); len(missed) > 0 {
			t.Logf("missed in %s (%s, level %d): %v", s.name, s.category, s.level, missed)
		} else {
			found++
		}
	}
	t.Logf("found %d of %d bad programs, false alarms in %d of %d good ones", found, bad, alarms, good)
	if found*100 < bad*wantFound {
		t.Errorf("found %d of %d bad programs, want %d %%", found, bad, wantFound)
	}
	if alarms*100 > good*wantAlarms {
		t.Errorf("false alarms in %d of %d good programs, allowed are %d %%", alarms, good, wantAlarms)
	}
}

// analyze runs galevet over all programs and returns what it says, by place.
func analyze(t *testing.T, galevet string) map[place][]string {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(galevet, "./bad/...", "./good/...")
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	findings := map[place][]string{}
	for line := range strings.Lines(out.String()) {
		m := finding.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		file := m[1]
		if filepath.IsAbs(file) {
			if file, err = filepath.Rel(root, file); err != nil {
				t.Fatal(err)
			}
		}
		n, _ := strconv.Atoi(m[2])
		p := place{filepath.ToSlash(file), n}
		findings[p] = append(findings[p], m[3])
	}
	if len(findings) == 0 {
		t.Fatalf("galevet found nothing: %v\n%s", err, out.String())
	}
	return findings
}

// missed returns the mistakes at whose places nothing was found.
func (s *source) missed(findings map[place][]string) (missed []place) {
	for _, places := range s.mistakes {
		if !slices.ContainsFunc(places, func(p place) bool { return findings[p] != nil }) {
			missed = append(missed, places...)
		}
	}
	return missed
}

// within returns what was found in a program.
func within(findings map[place][]string, name string) (reports []string) {
	for p, messages := range findings {
		if strings.HasPrefix(p.file, name+"/") {
			reports = append(reports, p.file+":"+strconv.Itoa(p.line)+": "+strings.Join(messages, "; "))
		}
	}
	slices.Sort(reports)
	return reports
}

func byName(all map[string]*source) []*source {
	list := make([]*source, 0, len(all))
	for _, s := range all {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *source) int { return strings.Compare(a.name, b.name) })
	return list
}
