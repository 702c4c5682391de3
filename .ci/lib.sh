# shellcheck shell=bash disable=SC2034
# What the steps have in common. .ci/run starts them in the checkout, each in a process of
# its own, with a folder $work that all of them share and that is removed at the end.
set -uo pipefail
repo=$PWD
work=${CI_WORK:?start it with .ci/run}
shared=${GALE_SHARED:-$PWD/../shared}
engines=${ENGINES:-block event}
full=${FULL:-}
fuzz_inputs=${FUZZ_INPUTS:-${full:+5000}}
fuzz_inputs=${fuzz_inputs:-700} # for each target

# The packages that have the tests of package gale.
gale_tests=(. ./tests/server ./tests/client ./tests/h2 ./tests/files ./tests/message)

# left_out WHAT: says in a step's output what it doesn't do here. The end repeats it.
left_out() { echo "LEFT OUT: $*"; }

# go_test NAME ARGS...: runs go test with ARGS, prints its results, and keeps its output as
# NAME. Flags must have the form -flag=value. A test that may run again doesn't make it fail:
# .ci/run decides about that test at the end.
go_test() { "$work/bin/ci" test "$@"; }

# logs NAME: prints what go_test kept as NAME.
logs() { cat "$work/$1.txt"; }

# shared_lacks: prints what $shared lacks, nothing if it is complete.
shared_lacks() {
	local file
	[ -d "$shared" ] || { echo "$shared"; return; }
	for file in conformance/h1cases.json conformance/h1run/go.mod conformance/mkwww.sh api/missing.sh; do
		[ -e "$shared/$file" ] || { echo "$shared/$file"; return; }
	done
}

# need_shared: ends a step that can't do anything without $shared. 77 means left out.
need_shared() {
	local lacks
	lacks=$(shared_lacks)
	if [ "${SHARED:-}" = no ]; then
		left_out "the whole step: SHARED is no"
	elif [ -n "$lacks" ] && [ -n "${CI_GIVEN:-}" ] && [ -d "$shared" ]; then
		echo "there is no $lacks, and CI is set"
		exit 1
	elif [ -n "$lacks" ]; then
		left_out "the whole step: there is no $lacks"
	else
		return 0
	fi
	exit 77
}
