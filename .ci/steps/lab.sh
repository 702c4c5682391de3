#!/usr/bin/env bash
# The lab: its servers answer equally, its reports are as they should be, and requests
# write no new word that event loops share.
. .ci/lib.sh

(cd lab/servers/compat && go vet ./...) || exit 1
cd lab && go vet ./... && staticcheck ./... && go_test lab ./...
