#!/usr/bin/env bash
# galevet finds in Gale what cmd/galevet/accepted.txt lists, no more. With FULL=1 also its own
# tests.
. .ci/lib.sh

if [ -n "$full" ]; then
	(cd cmd/galevet && go vet ./... && staticcheck ./... && go_test galevet ./...) || exit 1
fi
# Without -trimpath, so that each checkout has a galevet of its own: the go command keeps what
# one finds, with the paths of the checkout in which it was found.
(cd cmd/galevet && go build -trimpath=false -o "$work/galevet.own" .) && scripts/galevet.sh "$work/galevet.own"
