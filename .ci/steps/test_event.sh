#!/usr/bin/env bash
# The tests of package gale again, on the other engines; then what looks for foreign bytes,
# with pools that return objects in random order.
. .ci/lib.sh

rc=0
for engine in $engines; do
	[ "$engine" != block ] || continue
	echo "-- engine $engine"
	GALE_ENGINE=$engine go_test "test-$engine" -vet=off "${gale_tests[@]}" || rc=1
done
echo "-- pools that return objects in random order"
go_test test-pools -vet=off -tags=randompools -run='TestNothingForeign|TestNoForeignBytes|Forget|RandomPool' \
	"${gale_tests[@]}" ./internal/... ./adaptor ./stackless || rc=1
exit $rc
