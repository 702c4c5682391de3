#!/usr/bin/env bash
# Runs galevet over Gale, its examples and projects that use fasthttp, and counts the
# findings.
#
#   scripts/lifetimes.sh [-t] [-r REGEXP] [-s SECONDS] [WORK]
#
# -t runs the projects' own tests instead, on Gale with the race detector, and prints
# what the guard of lifetimes reports. -r picks projects by their names in the table below,
# and -s is the limit for one run of a project (default 900). WORK (default: a new
# directory, removed at the end) keeps what was downloaded, in NAME.vet what galevet said,
# and in NAME.test what go test said.
#
# Findings in tests are counted apart. docs/lifetimes.md judges each of the others.
#
# Tests of other projects may do anything. Started by root, the script goes on as the user
# nobody, who may write to WORK only.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
checkout=$PWD

projects='
fiber-v2 github.com/gofiber/fiber/v2@v2.52.15
fiber-v3 github.com/gofiber/fiber/v3@v3.5.0
atreugo  github.com/savsgio/atreugo/v11@v11.12.0
router   github.com/fasthttp/router@v1.5.4
'
fasthttp=v1.78.0

tests='' only=. seconds=900
while getopts tr:s: o; do
	case $o in
	t) tests=-t ;;
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
	work=$(mktemp -d "${TMPDIR:-/tmp}/gale-lifetimes.XXXXXX") || exit 1
	trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
fi
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work" && chown nobody "$work" || exit 1
	setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups --no-new-privs \
		bash "$checkout/scripts/lifetimes.sh" $tests -r "$only" -s "$seconds" "$work"
	exit
fi

export HOME=$work/home TMPDIR=$work/tmp GOPATH=$work/go GOMODCACHE=$work/go/mod GOCACHE=$work/cache
export GOWORK=off GOFLAGS=-buildvcs=false GOTOOLCHAIN=local
unset GOBIN GOENV
mkdir -p "$HOME" "$TMPDIR" "$GOMODCACHE"

# prepare NAME MODULE@VERSION: the project in a directory of its own, on Gale.
prepare() {
	local dir=$work/$1 src
	src=$(cd "$work" && go mod download -json "$2" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	[ -n "$src" ] || return 1
	[ ! -d "$dir" ] || { chmod -R u+w "$dir" && rm -rf "$dir"; }
	cp -R "$src" "$dir" && chmod -R u+w "$dir" && cd "$dir" || return 1
	go mod edit -require "github.com/valyala/fasthttp@$fasthttp" \
		-replace "github.com/valyala/fasthttp=$checkout/compat/fasthttp" -replace "github.com/galehttp/gale=$checkout" &&
		go mod tidy
}

# lines DIR: how many lines of Go the folder has, without tests.
lines() { find "$1" -name '*.go' ! -name '*_test.go' -print0 | xargs -0 cat | wc -l; }

# vet NAME DIR: runs galevet over the module in DIR.
vet() {
	local start=$SECONDS found intests
	(cd "$2" && timeout "$seconds" nice "$work/galevet" ./...) >"$work/$1.vet" 2>&1 </dev/null
	found=$(grep -cE '\.go:[0-9]+:[0-9]+: ' "$work/$1.vet")
	intests=$(grep -cE '_test\.go:[0-9]+:[0-9]+: ' "$work/$1.vet")
	printf '%-12s %8d lines %6d findings %6d in tests %6d s\n' "$1" "$(lines "$2")" $((found - intests)) "$intests" $((SECONDS - start))
	grep -E '\.go:[0-9]+:[0-9]+: ' "$work/$1.vet" | grep -vE '_test\.go:'
}

# report NAME: what the guard said in the tests of a project, each place once.
report() {
	printf '%-12s %6d reports\n' "$1" "$(grep -cE "$late" "$work/$1.test")"
	grep -oE "$late.*" "$work/$1.test" | sed -E 's/; lent by.*//' | sort | uniq -c | sort -rn
}
late='[A-Za-z.]+ used after (the handler returned|Release[A-Za-z]+)|released twice by Release[A-Za-z]+'

if [ -z "$tests" ]; then
	(cd cmd/galevet && go build -o "$work/galevet" .) || exit 1
	if [[ gale =~ $only ]]; then
		vet gale .
		find examples -name go.mod -printf '%h\n' | sort | while read -r dir; do
			vet "$(tr / - <<<"$dir")" "$dir"
		done
	fi
fi
rc=0
while read -r name module; do
	[[ -n $name && $name =~ $only ]] || continue
	if ! (prepare "$name" "$module") >"$work/$name.log" 2>&1; then
		echo "$name: not built, see $work/$name.log"
		rc=1
		continue
	fi
	if [ -z "$tests" ]; then
		vet "$name" "$work/$name"
		continue
	fi
	(cd "$work/$name" && GALE_GUARD=log timeout -k 10 "$seconds" nice go test -race -count=1 -vet=off -v -timeout "${seconds}s" ./... </dev/null) >"$work/$name.test" 2>&1
	report "$name"
done <<<"$projects"
exit $rc
