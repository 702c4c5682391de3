#!/usr/bin/env bash
# galevet finds in Gale what cmd/galevet/accepted.txt lists, no more. With FULL=1 also its own
# tests.
. .ci/lib.sh

if [ -n "$full" ]; then
	(cd cmd/galevet && go vet ./... && staticcheck ./... && go_test galevet ./...) || exit 1
fi
(cd cmd/galevet && go build -o "$work/galevet.own" .) && scripts/galevet.sh "$work/galevet.own"
