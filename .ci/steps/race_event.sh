#!/usr/bin/env bash
# The tests of package gale with the race detector, on the other engines.
. .ci/lib.sh

rc=0 short=-short
[ -z "$full" ] || short=-short=false
for engine in $engines; do
	[ "$engine" != block ] || continue
	echo "-- engine $engine"
	GALE_ENGINE=$engine go_test "race-$engine" -race -vet=off $short "${gale_tests[@]}" || rc=1
done
exit $rc
