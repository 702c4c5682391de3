#!/usr/bin/env bash
# Runs the tests of projects that use fasthttp: on fasthttp, and on Gale
# through compat/fasthttp and the replace line that users write.
#
#   scripts/frameworks.sh [-k] [-r REGEXP] [-s SECONDS] [WORK]
#
# -r picks projects by their names in the table below, -s is the limit for one
# run of one project (default 300), and -k takes results on fasthttp from the
# last run in WORK. WORK (default: a new directory, removed at
# the end) keeps what was downloaded and, in NAME.fasthttp.json and
# NAME.gale.json, what go test said. A table of the numbers of tests that pass
# comes out, and below it the first of those that pass on fasthttp alone; all are
# in NAME.lost. The exit status is 1 if there are any.
#
# Tests of other projects may do anything: one of them tries to delete /bin/sh.
# Started by root, the script goes on as the user nobody, who may write to WORK
# only.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
checkout=$PWD

# Name, module, and tests that are left out because they never end, on fasthttp
# neither.
projects='
fasthttp-router   github.com/fasthttp/router@v1.5.4
fasthttp-websocket github.com/fasthttp/websocket@v1.5.12
fasthttprouter    github.com/buaazp/fasthttprouter@v0.1.1
fasthttp-routing  github.com/qiangxue/fasthttp-routing@v0.0.0-20160225050629-6ccdc2a18d87
fasthttp-session  github.com/fasthttp/session/v2@v2.5.7
atreugo           github.com/savsgio/atreugo/v11@v11.12.0 ShutdownError
fiber-v2          github.com/gofiber/fiber/v2@v2.52.15
fiber-v3          github.com/gofiber/fiber/v3@v3.5.0
'
fasthttp=v1.78.0
# The version of this module that fasthttp asks for can't be had everywhere.
brrr=github.com/molecule-man/go-brrr

only=. seconds=300 keep=
while getopts kr:s: o; do
	case $o in
	k) keep=-k ;;
	r) only=$OPTARG ;;
	s) seconds=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
if [ -n "${1:-}" ]; then
	mkdir -p "$1" || exit 1
	work=$(cd "$1" && pwd)
else
	work=$(mktemp -d "${TMPDIR:-/tmp}/gale-frameworks.XXXXXX") || exit 1
	trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
fi
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work" && chown nobody "$work" || exit 1
	setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups --no-new-privs \
		bash "$checkout/scripts/frameworks.sh" $keep -r "$only" -s "$seconds" "$work"
	exit
fi

export HOME=$work/home TMPDIR=$work/tmp GOPATH=$work/go GOMODCACHE=$work/go/mod GOCACHE=$work/cache
export GOWORK=off GOFLAGS=-mod=mod GOTOOLCHAIN=local
unset GOBIN GOENV
mkdir -p "$HOME" "$TMPDIR" "$GOMODCACHE"

# prepare NAME MODULE@VERSION BACKEND: the project in a directory of its own,
# with its fasthttp set to the backend that it runs on.
prepare() {
	local dir=$work/$1.$3 src
	src=$(cd "$work" && go mod download -json "$2" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	[ -n "$src" ] || return 1
	[ ! -d "$dir" ] || { chmod -R u+w "$dir" && rm -rf "$dir"; }
	cp -R "$src" "$dir" && chmod -R u+w "$dir" && cd "$dir" || return 1
	[ -f go.mod ] || go mod init "${2%@*}" || return 1
	go mod edit -require "github.com/valyala/fasthttp@$fasthttp" || return 1
	case $3 in
	gale) go mod edit -replace "github.com/valyala/fasthttp=$checkout/compat/fasthttp" -replace "github.com/galehttp/gale=$checkout" ;;
	*) go mod edit -replace "$brrr=$brrr@v1.0.1" ;;
	esac
	go mod tidy && return
	# Examples of theirs import packages that can't be had any more.
	rm -f example_test.go && go mod tidy
}

# verdicts FILE RESULT: the tests that go test -json reports with it.
verdicts() {
	grep -F "\"Action\":\"$2\"" "$1" | grep -F '"Test":' | sed 's/.*"Package":"\([^"]*\)","Test":"\([^"]*\)".*/\1 \2/' | sort -u
}

cd "$work" || exit 1
rc=0 lost=
printf '%-20s %-44s %18s %18s\n' project version 'fasthttp pass/fail' 'gale pass/fail'
while read -r name module endless; do
	[[ -n $name && $name =~ $only ]] || continue
	declare -A row=()
	for on in fasthttp gale; do
		if [[ -n $keep && $on == fasthttp && -s $work/$name.$on.pass ]]; then
			row[$on]="$(wc -l <"$work/$name.$on.pass")/$(wc -l <"$work/$name.$on.fail")"
			continue
		fi
		if ! (prepare "$name" "$module" $on) >"$work/$name.$on.log" 2>&1; then
			row[$on]="not built"
			: >"$work/$name.$on.pass"
			continue
		fi
		(cd "$work/$name.$on" && timeout -k 10 "$seconds" nice go test -count=1 -vet=off ${endless:+-skip "/$endless"} -timeout "${seconds}s" -json ./... </dev/null) \
			>"$work/$name.$on.json" 2>>"$work/$name.$on.log"
		verdicts "$work/$name.$on.json" pass >"$work/$name.$on.pass"
		verdicts "$work/$name.$on.json" fail >"$work/$name.$on.fail"
		row[$on]="$(wc -l <"$work/$name.$on.pass")/$(wc -l <"$work/$name.$on.fail")"
	done
	printf '%-20s %-44s %18s %18s\n' "$name" "${module##*/}" "${row[fasthttp]}" "${row[gale]}"
	comm -23 "$work/$name.fasthttp.pass" "$work/$name.gale.pass" >"$work/$name.lost"
	lost+=$(head -n 40 "$work/$name.lost")
	[ ! -s "$work/$name.lost" ] || lost+=$'\n'
	[ -s "$work/$name.fasthttp.pass" ] || rc=1
done <<<"$projects"
if [ -n "$lost" ]; then
	printf '\npass on fasthttp alone:\n%s' "$lost"
	rc=1
fi
exit $rc
