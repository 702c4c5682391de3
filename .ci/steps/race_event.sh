#!/usr/bin/env bash
# The tests of package gale with the race detector, on the other engines.
. .ci/lib.sh

rc=0
for engine in $engines; do
	[ "$engine" != block ] || continue
	echo "-- engine $engine"
	GALE_ENGINE=$engine go_test "race-$engine" -race -vet=off "${gale_tests[@]}" || rc=1
done
exit $rc
