#!/usr/bin/env bash
# The work for what peers send is linear in its bytes: steps are counted in sources
# that are rewritten for that.
. .ci/lib.sh

go vet -tags galesteps ./tests/steps && go run ./tests/steps/instrument "$work/steps" || exit 1
go_test steps -overlay="$work/steps/overlay.json" -tags=galesteps -vet=off ./tests/steps || exit 1
logs steps | grep -oE 'at most [0-9]+ steps.*'
