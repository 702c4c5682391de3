#!/usr/bin/env bash
# The same requests to applications of Fiber on Gale and on fasthttp: by default a part of
# them, with FULL=1 all.
. .ci/lib.sh

(cd tests/fiber && go_test fiber .) || exit 1
logs fiber | grep -oE '[0-9]+ requests, .*'
exit 0
