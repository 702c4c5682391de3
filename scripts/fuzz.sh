#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other.
#
#   fuzz.sh [TIME]     TIME: for how long each, a Go duration (default 10s)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=${GO:-go} time=${1:-10s} rc=0 n=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz PKG TARGET: one target. A worker that was not scheduled in time when the
# time was over makes go test fail with "context deadline exceeded" and no input:
# that is no finding, and the target runs again.
fuzz() {
	local try
	for try in 1 2 3; do
		$go test -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 10x "$1" 2>&1 | tee "$log" && return 0
		grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log" || return 1
		echo "no input was found: once more (try $try)"
	done
	return 1
}
for pkg in $($go list ./...); do
	dir=.${pkg#"$($go list -m)"}
	grep -qs '^func Fuzz' "$dir"/*_test.go || continue
	for target in $($go test -list '^Fuzz' "$pkg" | grep '^Fuzz'); do
		echo "fuzz $pkg $target"
		n=$((n + 1))
		fuzz "$pkg" "$target" || rc=1
	done
done
echo "fuzz: $n targets, $time each, $([ $rc = 0 ] && echo no failure || echo FAILED)"
exit $rc
