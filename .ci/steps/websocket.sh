#!/usr/bin/env bash
# WebSocket with the peers of others, and the Autobahn testsuite without the groups that take
# minutes: scripts/autobahn.sh has those.
. .ci/lib.sh

rc=0
tests/websocket/peers.sh "$work/peers"
(cd tests/websocket && go vet ./... && staticcheck ./... && GALE_WEBSOCKET_PEERS=$work/peers go_test websocket ./...) || rc=1
(cd tests/websocket/compat && go vet ./... && go_test websocket-compat ./...) || rc=1
grep -o 'LEFT OUT.*' "$work/websocket.txt" | sort -u
if [ "${SHARED:-}" = no ] || [ ! -x "$shared/websocket/run_autobahn.sh" ]; then
	left_out "there is no $shared/websocket for Autobahn"
	exit $rc
fi
GALE_SHARED=$shared scripts/autobahn.sh -q -j 2 event-event-clear conn-block-clear client || rc=1
exit $rc
