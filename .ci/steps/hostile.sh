#!/usr/bin/env bash
# What two hostile reviews proved, also with the race detector.
. .ci/lib.sh

copy_proofs hostile || exit 1
rc=0
run_proofs hostile || rc=1
run_proofs hostile -race || rc=1
(cd "$work/hostile" && go_test hostile-late -vet=off -race -run=LateBeforeSend -count=3 ./core) || rc=1 # a rare order
if logs hostile-serve | grep -q -e '--- SKIP: TestKeepFree'; then
	left_out "TestKeepFree mounts a disk, which takes root"
	[ "$(id -u)" != 0 ] || rc=1
fi
exit $rc
