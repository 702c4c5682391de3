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

# shared_lacks FILES...: prints what $shared lacks, nothing if it is complete and has FILES.
shared_lacks() {
	local file
	[ -d "$shared" ] || { echo "$shared"; return; }
	for file in conformance/h1cases.json conformance/h1run/go.mod conformance/mkwww.sh api/missing.sh "$@"; do
		[ -e "$shared/$file" ] || { echo "$shared/$file"; return; }
	done
}

# need_shared FILES...: ends a step that can't do anything without $shared, or without FILES
# there. 77 means left out.
need_shared() {
	local lacks
	lacks=$(shared_lacks "$@")
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

# copy_proofs NAME: copies a module of tests that $shared has to $work/NAME, and lets it use
# the checkout.
copy_proofs() {
	need_shared "$1/go.mod"
	cp -R "$shared/$1" "$work/$1" && chmod -R u+w "$work/$1" && (cd "$work/$1" && go mod edit -replace "github.com/galehttp/gale=$repo")
}

# run_proofs NAME FLAGS...: runs the tests of each folder of $work/NAME in a call of its own,
# so that they have the machine for themselves. Tests that build programs of the checkout find
# it in $GALE.
run_proofs() (
	cd "$work/$1" || exit 1
	name=$1 rc=0
	shift
	packages=$(go list ./...) || exit 1
	for package in $packages; do
		GALE=$repo go_test "$name-${package##*/}$*" -vet=off "$@" "$package" || rc=1
	done
	exit $rc
)
