#!/usr/bin/env bash
# Every fuzz target. By number of inputs, not by time: on a machine that is busy, a target may
# not get any.
. .ci/lib.sh

n=$(grep -lr '^func Fuzz' --include='*_test.go' --exclude-dir=bench . | xargs -r grep -h '^func Fuzz' | wc -l)
[ "$n" -gt 0 ] || { echo "no fuzz targets"; exit 1; }
scripts/fuzz.sh "${fuzz_inputs}x" >"$work/fuzz.txt" 2>&1
rc=$?
[ $rc = 0 ] || grep -vE '^fuzz: elapsed' "$work/fuzz.txt" | tail -n 100
tail -n 1 "$work/fuzz.txt"
exit $rc
