#!/usr/bin/env bash
# galevet's own tests, and that it finds in Gale what cmd/galevet/accepted.txt lists, no more.
. .ci/lib.sh

(cd cmd/galevet && go vet ./... && staticcheck ./... && go_test galevet ./... && go build -o "$work/galevet.own" .) || exit 1
scripts/galevet.sh "$work/galevet.own"
