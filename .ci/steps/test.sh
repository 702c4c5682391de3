#!/usr/bin/env bash
# The README's command.
. .ci/lib.sh

go_test test ./... || exit 1
logs test | grep -E '^ +[a-z0-9_]+_test.go:[0-9]+: not installed' | sed 's/.*: not/LEFT OUT: not/' | sort -u
exit 0
