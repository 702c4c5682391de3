#!/usr/bin/env bash
# The pages of the command, in Chromium.
. .ci/lib.sh

rc=0
(cd tests/browser && go vet ./... && go_test browser ./...) || rc=1
logs browser | grep '^LEFT OUT'
exit $rc
