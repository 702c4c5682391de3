#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other.
#
#   fuzz.sh [TIME]     TIME: how long each, a Go duration or a number of inputs
#                      (default 10s; 10000x)
#
# Inputs that reached new code are kept in Go's cache, those that failed in
# testdata/fuzz beside the target.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=${GO:-go} time=${1:-10s} rc=0 n=0
module=$($go list -m) cache=$($go env GOCACHE)/fuzz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fuzz PKG TARGET: one target. If TIME is a duration, a worker that was not scheduled when it
# was over makes the target fail with "context deadline exceeded" and no input: that is no
# finding, and the target runs again. With a number of inputs it never does.
fuzz() {
	local try
	for try in 1 2 3; do
		(cd "$dir" && "$work/test" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$time" \
			-test.fuzzminimizetime 10x -test.fuzzcachedir "$cache/$1") 2>&1 | tee "$work/log" && return 0
		[[ $time != *x ]] && grep -q 'context deadline exceeded' "$work/log" && ! grep -q 'Failing input' "$work/log" || return 1
		echo "no input was found: once more (try $try)"
	done
	return 1
}
for pkg in $($go list ./...); do
	dir=.${pkg#"$module"}
	targets=$(grep -hs '^func Fuzz' "$dir"/*_test.go | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/') || continue
	$go test -c -fuzz=. -o "$work/test" "$pkg"
	for target in $targets; do
		echo "fuzz $pkg $target"
		n=$((n + 1))
		fuzz "$pkg" "$target" || rc=1
	done
done
echo "fuzz: $n targets, $time each, $([ $rc = 0 ] && echo no failure || echo FAILED)"
exit $rc
