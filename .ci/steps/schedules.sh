#!/usr/bin/env bash
# The tests of servers and clients pass with delays before each operation that synchronizes
# goroutines: three seeds. A test that fails hopes for an order, or shows a defect; no run of it
# is forgiven, since the next one has other delays.
. .ci/lib.sh

# The engines are those of the machine if they aren't chosen.
go run ./scripts/schedfuzz -seeds "1 2 3" -j 2 ${ENGINES:+-engines="$ENGINES"}
