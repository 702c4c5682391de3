#!/usr/bin/env bash
# A release for this machine, as scripts/release.sh makes it: static, reproducible, and
# it serves in a root folder of its own. Then the memory of the command under load.
. .ci/lib.sh

GALE_RELEASE=1 go_test release -vet=off -run=TestRelease ./scripts/pack || exit 1
cd bench && go run ./serve -check
