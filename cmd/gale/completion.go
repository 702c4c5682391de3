package main

import (
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// completionCommand is a function because its script names all commands.
func completionCommand() command {
	return command{
		name:  "completion",
		short: "print a completion script for bash, zsh or fish",
		long: `usage: gale completion bash|zsh|fish

Completion prints a script that completes the commands and flags of gale. To use
it in this shell only:

	bash:	source <(gale completion bash)
	zsh:	source <(gale completion zsh)
	fish:	gale completion fish | source

To use it in all shells, write it to the file that the shell looks for:

	bash:	~/.local/share/bash-completion/completions/gale
	zsh:	_gale in a folder of $fpath
	fish:	~/.config/fish/completions/gale.fish
`,
		run: runCompletion,
	}
}

// completionScripts makes the scripts, by shell.
var completionScripts = []struct {
	shell string
	write func([]completed) string
}{
	{"bash", bashCompletion},
	{"zsh", zshCompletion},
	{"fish", fishCompletion},
}

func runCompletion(args []string, stdout, _ io.Writer) error {
	if len(args) == 1 {
		if isHelpFlag(args[0]) {
			return errHelp
		}
		for _, s := range completionScripts {
			if s.shell == args[0] {
				_, err := io.WriteString(stdout, s.write(completions()))
				return err
			}
		}
	}
	return usagef("name one shell: %s", strings.Join(completionShells(), ", "))
}

func completionShells() []string {
	var names []string
	for _, s := range completionScripts {
		names = append(names, s.shell)
	}
	return names
}

// completed is what the shells know about a command.
type completed struct {
	name, short string
	words       []string  // what its argument can be
	argument    valueKind // what its arguments are
	flags       []completedFlag
}

// completedFlag is a flag of a command.
type completedFlag struct {
	name, short string // short is the description as far as shells show it
	value       string // what its value is; "" if it has none
	optional    bool   // the value can be left out; it is given as -name=value
	offered     string // instead of the name, if the name alone has no effect
	words       []string
	kind        valueKind
}

// valueKind says what a shell can offer for a value.
type valueKind int

const (
	anyValue valueKind = iota
	fileValue
	folderValue
)

// valueKinds are the kinds of values, by their names in the descriptions of flags.
// Other values are anyValue.
var valueKinds = map[string]valueKind{
	"file": fileValue, "path": fileValue, "socket": fileValue,
	"folder": folderValue, "dir": folderValue,
}

// completions describes all commands, and help, which isn't among them.
func completions() []completed {
	var all []completed
	var names []string
	for _, c := range commands() {
		e := completed{name: c.name, short: c.short, argument: c.argument}
		if c.flagSet != nil {
			c.flagSet().VisitAll(func(f *flag.Flag) { e.flags = append(e.flags, completeFlag(f)) })
		}
		if c.name == "completion" {
			e.words = completionShells()
		}
		all = append(all, e)
		names = append(names, c.name)
	}
	return append(all, completed{name: "help", short: "describe a command", words: names})
}

func completeFlag(f *flag.Flag) completedFlag {
	value, usage := flag.UnquoteUsage(f)
	e := completedFlag{name: f.Name, value: value, words: choices(f.Usage), kind: valueKinds[value]}
	e.short, _, _ = strings.Cut(usage, ";")
	e.short, _, _ = strings.Cut(e.short, " (")
	if len(e.words) > 0 {
		e.short, _, _ = strings.Cut(e.short, ":") // the values follow
	}
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		e.optional = true
		if f.DefValue == "true" {
			e.offered, e.short = f.Name+"=false", "don't "+e.short
		}
	}
	return e
}

// choices returns the values of a flag whose description lists them after the name of
// the value, as in "`format`: text, json or off (only errors)".
func choices(usage string) []string {
	usage = regexp.MustCompile(` \([^)]*\)`).ReplaceAllString(usage, "")
	m := regexp.MustCompile("`: ([a-z]+(?:, [a-z]+)*) or ([a-z]+)(?:[;.]|$)").FindStringSubmatch(usage)
	if m == nil {
		return nil
	}
	return append(strings.Split(m[1], ", "), m[2])
}

// bashCompletion needs bash 3.2, which macOS has, without the package bash-completion.
func bashCompletion(all []completed) string {
	var b strings.Builder
	b.WriteString(`# Completion of gale for bash, made by: gale completion bash

_gale() {
	local cur=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} words= kind= word
	# Of -flag=value, bash makes three words.
	if [[ $cur == = ]]; then
		cur= flag+==
	elif [[ $flag == = ]]; then
		flag=${COMP_WORDS[COMP_CWORD-2]}=
	fi
	[[ $flag != --* ]] || flag=${flag#-}
	if ((COMP_CWORD == 1)); then
`)
	fmt.Fprintf(&b, "\t\twords=%s\n", shellQuote(strings.Join(commandNames(all), " ")))
	b.WriteString("\telse\n\t\tcase ${COMP_WORDS[1]} in\n")
	for _, c := range all {
		fmt.Fprintf(&b, "\t\t%s)\n", c.name)
		bashArguments(&b, c)
		b.WriteString("\t\t\t;;\n")
	}
	b.WriteString(`		esac
	fi
	COMPREPLY=()
	if [[ $kind ]]; then
		compopt -o filenames 2>/dev/null
		while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -A "$kind" -- "$cur")
	elif [[ $words ]]; then
		while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$cur")
	fi
}

complete -F _gale gale
`)
	return b.String()
}

// bashArguments writes what sets words or kind for the arguments of a command.
func bashArguments(b *strings.Builder, c completed) {
	if len(c.words) > 0 {
		fmt.Fprintf(b, "\t\t\t((COMP_CWORD > 2)) || words=%s\n", shellQuote(strings.Join(c.words, " ")))
		return
	}
	if c.argument == anyValue && len(c.flags) == 0 {
		return
	}
	var offered, free []string
	b.WriteString("\t\t\tcase $flag in\n")
	for _, f := range c.flags {
		offered = append(offered, "-"+f.offeredName())
		pattern := fmt.Sprintf("-%s|-%[1]s=", f.name)
		switch {
		case f.optional: // the next word isn't its value
		case len(f.words) > 0:
			fmt.Fprintf(b, "\t\t\t%s) words=%s ;;\n", pattern, shellQuote(strings.Join(f.words, " ")))
		case f.kind == fileValue:
			fmt.Fprintf(b, "\t\t\t%s) kind=file ;;\n", pattern)
		case f.kind == folderValue:
			fmt.Fprintf(b, "\t\t\t%s) kind=directory ;;\n", pattern)
		default:
			free = append(free, "-"+f.name)
		}
	}
	fmt.Fprintf(b, `			%s) ;; # any value
			*)
				if [[ $cur == -* ]]; then
					words=%s
					[[ $cur != --* ]] || words=-${words// -/ --}
				else
					kind=%s
				fi
				;;
			esac
`, strings.Join(append(free, "-*="), "|"), shellQuote(strings.Join(offered, " ")), bashKinds[c.argument])
}

// bashKinds are the actions of compgen that offer arguments.
var bashKinds = map[valueKind]string{fileValue: "file", folderValue: "directory"}

func (f *completedFlag) offeredName() string {
	if f.offered != "" {
		return f.offered
	}
	return f.name
}

func zshCompletion(all []completed) string {
	var b strings.Builder
	b.WriteString("#compdef gale\n# Completion of gale for zsh, made by: gale completion zsh\n\n_gale() {\n\tlocal -a commands=(\n")
	for _, c := range all {
		fmt.Fprintf(&b, "\t\t%s\n", shellQuote(c.name+":"+c.short))
	}
	b.WriteString(`	)
	if (( CURRENT == 2 )); then
		_describe command commands
		return
	fi
	# Flags have one dash or two.
	local d=-
	[[ $words[CURRENT] != --* && $words[CURRENT-1] != --* ]] || d=--
	local command=$words[2]
	shift words
	(( CURRENT-- ))
	case $command in
`)
	for _, c := range all {
		fmt.Fprintf(&b, "\t%s)\n\t\t_arguments", c.name)
		for _, f := range c.flags {
			fmt.Fprintf(&b, " \\\n\t\t\t$d%s", shellQuote(zshFlag(f)))
		}
		switch {
		case len(c.words) > 0:
			fmt.Fprintf(&b, " \\\n\t\t\t%s", shellQuote("1:argument:("+strings.Join(c.words, " ")+")"))
		case c.argument == fileValue:
			b.WriteString(" \\\n\t\t\t'*:file:_files'")
		case c.argument == folderValue:
			b.WriteString(" \\\n\t\t\t'*:folder:_files -/'")
		}
		b.WriteString("\n\t\t;;\n")
	}
	b.WriteString(`	esac
}

if [[ $funcstack[1] == _gale ]]; then
	_gale "$@"
else
	compdef _gale gale
fi
`)
	return b.String()
}

// zshFlag describes a flag for _arguments, without its dash.
func zshFlag(f completedFlag) string {
	short := "[" + zshEscape(f.short, `[]:`) + "]"
	switch {
	case f.offered != "":
		return f.offered + short
	case f.optional && f.value == "":
		return f.name + short
	case f.optional:
		return f.name + "=-" + short + "::" + zshEscape(f.value, ":") + ": "
	}
	action := " "
	switch {
	case len(f.words) > 0:
		action = "(" + strings.Join(f.words, " ") + ")"
	case f.kind == fileValue:
		action = "_files"
	case f.kind == folderValue:
		action = "_files -/"
	}
	return f.name + "=" + short + ":" + zshEscape(f.value, ":") + ":" + action
}

// zshEscape puts a backslash before each of the characters of special.
func zshEscape(s, special string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func fishCompletion(all []completed) string {
	var b strings.Builder
	b.WriteString("# Completion of gale for fish, made by: gale completion fish\n\ncomplete -c gale -f\n")
	names := strings.Join(commandNames(all), " ")
	for _, c := range all {
		fmt.Fprintf(&b, "complete -c gale -n %s -a %s -d %s\n",
			fishQuote("not __fish_seen_subcommand_from "+names), c.name, fishQuote(c.short))
	}
	for _, c := range all {
		on := "complete -c gale -n " + fishQuote("__fish_seen_subcommand_from "+c.name)
		switch {
		case len(c.words) > 0:
			// The names of commands are words of help: only the first one counts.
			fmt.Fprintf(&b, "complete -c gale -n %s -a %s\n",
				fishQuote("test (count (commandline -opc)) -eq 2; and __fish_seen_subcommand_from "+c.name), fishQuote(strings.Join(c.words, " ")))
		case c.argument == fileValue:
			fmt.Fprintf(&b, "%s -F\n", on)
		case c.argument == folderValue:
			fmt.Fprintf(&b, "%s -a '(__fish_complete_directories (commandline -ct))'\n", on)
		}
		for _, f := range c.flags {
			fmt.Fprintf(&b, "%s -o %s -l %s%s -d %s\n", on, f.offeredName(), f.offeredName(), fishValue(f), fishQuote(f.short))
		}
	}
	return b.String()
}

// fishValue says what the value of a flag can be.
func fishValue(f completedFlag) string {
	switch {
	case f.optional:
		return ""
	case len(f.words) > 0:
		return " -x -a " + fishQuote(strings.Join(f.words, " "))
	case f.kind == fileValue:
		return " -r -F"
	case f.kind == folderValue:
		return " -x -a '(__fish_complete_directories (commandline -ct))'"
	}
	return " -x"
}

func commandNames(all []completed) []string {
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	return names
}

// shellQuote quotes s for bash and zsh.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// fishQuote quotes s for fish.
func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
