#!/usr/bin/env bash
# All Go files are formatted, and simplified.
. .ci/lib.sh

bad=$(git ls-files -z '*.go' | xargs -0 gofmt -s -l) || exit 1
[ -z "$bad" ] || { echo "not formatted (gofmt -s):"; echo "$bad"; exit 1; }
