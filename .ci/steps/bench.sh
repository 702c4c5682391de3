#!/usr/bin/env bash
# Every benchmark once: they compile, run and check their own results. Then Gale's often
# enough to count allocations, which may not be more than in bench/baseline.txt.
. .ci/lib.sh

(cd bench && go build -o "$work/bin/" ./... && go test -count=1 -benchtime 1x -bench . . ./cmd/... >"$work/bench.txt" 2>&1)
rc=$?
[ $rc = 0 ] || tail -n 60 "$work/bench.txt"
echo "$(grep -c '^Benchmark' "$work/bench.txt") benchmarks ran"
[ $rc = 0 ] || exit $rc
(cd bench && "$work/bin/check" -allocs -rounds 3)
