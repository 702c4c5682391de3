#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other.
#
#   fuzz.sh [TIME]     TIME: for how long each, a Go duration (default 10s)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=${GO:-go} time=${1:-10s} rc=0 n=0
for pkg in $($go list ./...); do
	dir=.${pkg#"$($go list -m)"}
	grep -qs '^func Fuzz' "$dir"/*_test.go || continue
	for target in $($go test -list '^Fuzz' "$pkg" | grep '^Fuzz'); do
		echo "fuzz $pkg $target"
		n=$((n + 1))
		$go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 5s "$pkg" || rc=1
	done
done
echo "fuzz: $n targets, $time each, $([ $rc = 0 ] && echo no failure || echo FAILED)"
exit $rc
