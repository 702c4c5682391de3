#!/usr/bin/env bash
# golangci-lint runs where it is installed: building it takes longer than all
# the rest, and tests/arch has the rule that matters most.
. .ci/lib.sh

command -v golangci-lint >/dev/null || { left_out "golangci-lint is not installed"; exit 0; }
golangci-lint run
