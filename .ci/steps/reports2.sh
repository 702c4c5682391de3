#!/usr/bin/env bash
# Public bug reports of other projects, a second collection, as tests.
. .ci/lib.sh

copy_proofs reports2 && run_proofs reports2
