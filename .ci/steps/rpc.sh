#!/usr/bin/env bash
# gRPC and Connect on Gale: their own tests, and the life of calls. Then one short round
# of the comparison of costs, which must run.
. .ci/lib.sh

rc=0
(cd tests/rpc && go vet ./... && staticcheck ./... && go_test rpc ./...) || rc=1
(cd tests/rpc && go run ./cost -rounds 1 -round 200ms) || rc=1
logs rpc | grep -o 'LEFT OUT.*'
exit $rc
