#!/usr/bin/env bash
# Proofs that one request has one reading, of prefork, and of lengths where an int has 32
# bits.
. .ci/lib.sh

copy_proofs hostile3 || exit 1
rc=0
run_proofs hostile3 || rc=1
(cd "$work/hostile3" && GOARCH=386 CGO_ENABLED=0 go_test hostile3-386 -vet=off ./bits) || rc=1
exit $rc
