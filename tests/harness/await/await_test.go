package await

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// failure is a test that notes what Fatalf says.
type failure struct {
	testing.TB
	said string
}

func (f *failure) Helper() {}

func (f *failure) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestUntil(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration // cond is true from then on
		want  string
	}{
		{"at once", 0, ""},
		{"later", 3 * time.Second, ""},
		{"just in time", limit - 1, ""},
		{"never", time.Hour, "gave up after 1m0s: the day\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				f := &failure{TB: t}
				done := make(chan struct{})
				go func() {
					defer close(done)
					Until(f, "the day", func() bool { return time.Since(begin) >= tt.after })
				}()
				<-done
				took := time.Since(begin)
				if tt.want == "" && (f.said != "" || took < tt.after || took > tt.after+lastStep) {
					t.Errorf("Until returned after %v and said %q", took, f.said)
				}
				if !strings.HasPrefix(f.said, tt.want) || tt.want != "" && took > limit+lastStep {
					t.Errorf("Await said %.60q after %v, want %q", f.said, took, tt.want)
				}
			})
		})
	}
}

// What is left is no deadline: the words are others.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failure{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			Gone(f, "a file", func() bool { return false })
		}()
		<-done
		if !strings.HasPrefix(f.said, "after 1m0s there still is: a file\n") {
			t.Errorf("Gone said %q", f.said)
		}
	})
}
