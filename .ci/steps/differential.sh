#!/usr/bin/env bash
# The same inputs and calls for Gale, fasthttp and net/http.
. .ci/lib.sh

(cd tests/differential && go_test differential ./...)
