package main

import (
	"bytes"
	"context"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// shell returns the path of a shell, or leaves the test out.
func shell(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("not installed: " + name)
	}
	return path
}

func completionScript(t *testing.T, shell string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run([]string{"completion", shell}, &stdout, &stderr); code != exitOK || stderr.Len() > 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	return stdout.String()
}

// Every command and flag is in every script.
func TestCompletionsAreWhole(t *testing.T) {
	for _, s := range completionScripts {
		script := completionScript(t, s.shell)
		for _, c := range commands() {
			if !strings.Contains(script, c.name) {
				t.Errorf("%s: no command %s", s.shell, c.name)
			}
			if (c.flags == nil) != (c.flagSet == nil) {
				t.Errorf("%s has flags in its help only, or in its completions only", c.name)
			}
			if c.flagSet == nil {
				continue
			}
			c.flagSet().VisitAll(func(f *flag.Flag) {
				in := map[string]string{"bash": "-" + f.Name, "zsh": "$d'" + f.Name, "fish": " -o " + f.Name + ""}[s.shell]
				if !strings.Contains(script, in) {
					t.Errorf("%s: no flag -%s", s.shell, f.Name)
				}
			})
		}
	}
}

// The values that are offered for a flag are those that it takes.
func TestCompletionChoices(t *testing.T) {
	found := map[string][]string{}
	serveCommand.flagSet().VisitAll(func(f *flag.Flag) {
		words := choices(f.Usage)
		if words == nil {
			return
		}
		found[f.Name] = words
		for _, w := range words {
			if err := f.Value.Set(w); err != nil {
				t.Errorf("-%s %s: %v", f.Name, w, err)
			}
		}
		if err := f.Value.Set("none of these"); err == nil {
			t.Errorf("-%s takes other values than %q", f.Name, words)
		}
	})
	if names := slices.Sorted(maps.Keys(found)); !slices.Equal(names, []string{"engine", "log"}) {
		t.Errorf("values are offered for %q; if these are the right flags, write them here", names)
	}
	if !slices.Equal(found["engine"], []string{"auto", "block", "event"}) {
		t.Errorf("-engine: %q", found["engine"])
	}
}

// completionCases are command lines, the last word being typed, with what must be
// offered and what must not. They run in a folder that has the file key.pem
// and the folder "my site", which has the folder sub.
var completionCases = []struct {
	line string
	want []string
	not  []string
}{
	{"gale ", []string{"serve", "completion", "version", "help"}, []string{"bash", "my site"}},
	{"gale se", []string{"serve"}, []string{"version"}},
	{"gale completion ", []string{"bash", "zsh", "fish"}, []string{"serve", "my site"}},
	{"gale help ", []string{"serve", "version"}, []string{"-addr"}},
	{"gale serve -tls-", []string{"-tls-cert", "-tls-key", "-tls-self-signed"}, []string{"-addr"}},
	{"gale serve --tls-c", []string{"--tls-cert"}, []string{"--addr", "-tls-cert"}},
	{"gale serve my -c", []string{"-cors", "-compress=false"}, []string{"-addr"}},
	{"gale serve -engine ", []string{"auto", "block", "event"}, []string{"my site"}},
	{"gale serve -engine=e", []string{"event"}, []string{"auto", "my site"}},
	{"gale serve --log j", []string{"json"}, []string{"text"}},
	{"gale serve -tls-cert k", []string{"key.pem"}, []string{"my site"}},
	{"gale serve ", []string{"my site"}, []string{"key.pem"}},
	{"gale serve -spa m", []string{"my site"}, []string{"key.pem", "max-conns"}},
	{"gale bench --tls-m", []string{"--tls-min", "--tls-max"}, []string{"--think", "key.pem"}},
	{"gale bench --data-order ", []string{"turns", "random"}, []string{"key.pem"}},
	{"gale bench --data k", []string{"key.pem"}, []string{"--data"}},
	{"gale bench -rate ", nil, []string{"key.pem"}},
	{"gale bench compare k", []string{"key.pem"}, []string{"-key"}},
	{"gale serve -addr ", nil, []string{"my site", "key.pem"}},
}

// completionFolder makes the folder of completionCases and a script in it.
func completionFolder(t *testing.T, shell string) (dir, script string) {
	t.Helper()
	dir = t.TempDir()
	script = filepath.Join(t.TempDir(), "gale."+shell)
	if err := os.MkdirAll(filepath.Join(dir, "my site", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{filepath.Join(dir, "key.pem"): "", script: completionScript(t, shell)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, script
}

// testCompletions compares what offers prints for each line: one word on a line.
func testCompletions(t *testing.T, offers func(line string) []string) {
	t.Helper()
	for _, c := range completionCases {
		var got []string
		for _, word := range offers(c.line) {
			got = append(got, strings.TrimSuffix(strings.ReplaceAll(word, `\ `, " "), "/"))
		}
		for _, w := range c.want {
			if !slices.Contains(got, w) {
				t.Errorf("%q: %q isn't offered, but %q", c.line, w, got)
			}
		}
		for _, w := range c.not {
			if slices.Contains(got, w) {
				t.Errorf("%q: %q is offered", c.line, w)
			}
		}
	}
}

// runShell returns the lines that a shell prints.
func runShell(t *testing.T, dir, path string, args ...string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Errorf("%s: %v: %s", filepath.Base(path), err, stderr.String())
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' || r == '\r' })
}

// bash splits words at = as well, when it completes.
func TestCompletionBash(t *testing.T) {
	bash := shell(t, "bash")
	dir, script := completionFolder(t, "bash")
	testCompletions(t, func(line string) []string {
		words := strings.Split(strings.ReplaceAll(line, "=", " = "), " ")
		return runShell(t, dir, bash, append([]string{"--norc", "-c",
			`source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gale; printf '%s\n' "${COMPREPLY[@]}"`, script}, words...)...)
	})
}

func TestCompletionFish(t *testing.T) {
	fish := shell(t, "fish")
	dir, script := completionFolder(t, "fish")
	testCompletions(t, func(line string) []string {
		var words []string
		for _, s := range runShell(t, dir, fish, "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, script, line) {
			word, _, _ := strings.Cut(s, "\t")
			if name, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(line[strings.LastIndexByte(line, ' ')+1:], name+"=") {
				word = value // fish offers the flag with its value
			}
			words = append(words, word)
		}
		return words
	})
}

// zsh completes on a terminal only: its module zpty makes one. What the completion
// adds is written to a file.
const zshDriver = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "export OFFERED=${(q)3}; source ${(q)1}"
zpty -w shell "${2}"$'\t'
while zpty -r shell line; do :; done
cat -- "$3"
`

const zshSetup = `
PROMPT= RPROMPT=
autoload -Uz compinit && compinit -C -d %s.dump
source %s
offer() {
	compadd() {
		local -a offered
		if (( ! ${@[(I)-[ADO]]} )); then # with these, functions of zsh ask what matches
			builtin compadd -O offered "$@"
			print -rl -- $offered >>$OFFERED
		fi
		builtin compadd "$@"
	}
	_main_complete
	exit
}
zle -C offer complete-word offer
bindkey '^I' offer
`

func TestCompletionZsh(t *testing.T) {
	zsh := shell(t, "zsh")
	dir, script := completionFolder(t, "zsh")
	setup := script + ".setup"
	if err := os.WriteFile(setup, []byte(strings.ReplaceAll(zshSetup, "%s", shellQuote(script))), 0o600); err != nil {
		t.Fatal(err)
	}
	testCompletions(t, func(line string) []string {
		offered := filepath.Join(t.TempDir(), "offered")
		if err := os.WriteFile(offered, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return runShell(t, dir, zsh, "-f", "-c", zshDriver, "zsh", setup, line, offered)
	})
}
