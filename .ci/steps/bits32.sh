#!/usr/bin/env bash
# What carries a length of 2 GiB or more, with ints of 32 bits. The bodies are counted, not stored, except one upload.
. .ci/lib.sh

GOARCH=386 CGO_ENABLED=0 go_test bits32 -run=BeyondInt -vet=off ./tests/server ./tests/client ./tests/files ./cmd/gale/...
