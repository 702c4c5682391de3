#!/usr/bin/env bash
# Proofs that held against attacks on the core and its edges, also with the race detector.
. .ci/lib.sh

copy_proofs hostile || exit 1
rc=0
run_proofs hostile || rc=1
run_proofs hostile -race || rc=1
(cd "$work/hostile" && go_test hostile-late -vet=off -race -run=LateBeforeSend -count=3 ./core) || rc=1 # a rare order
if logs hostile-serve | grep -q -e '--- SKIP: TestKeepFree'; then # it mounts a disk
	if [ "$(id -u)" = 0 ]; then
		echo "TestKeepFree was skipped, and this is root"
		rc=1
	else
		left_out "TestKeepFree takes root"
	fi
fi
exit $rc
