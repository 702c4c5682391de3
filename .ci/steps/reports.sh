#!/usr/bin/env bash
# Public bug reports of other projects, as tests.
. .ci/lib.sh

copy_proofs reports && run_proofs reports
