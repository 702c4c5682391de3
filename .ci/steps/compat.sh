#!/usr/bin/env bash
# The module of fasthttp's name is what the generator makes of Gale's API, and has every name of
# fasthttp. With FULL=1 also for all systems, and with programs of others on it.
. .ci/lib.sh

rc=0
go generate ./compat/gen || exit 1
git --no-pager diff --exit-code --stat -- compat/fasthttp || rc=1
[ -z "$(git ls-files --others --exclude-standard compat/fasthttp)" ] || rc=1
[ $rc = 0 ] || { echo "compat/fasthttp is not what go generate ./compat/gen makes: commit that"; exit 1; }
(cd compat/fasthttp && go_test compat ./...) || exit 1
if [ -n "$full" ]; then
	scripts/cross.sh compat/fasthttp || exit 1
	for module in examples/*/go.mod; do # programs of others, in modules of their own
		(cd "${module%/go.mod}" && go vet ./... && go_test "compat-$(basename "${module%/go.mod}")" ./...) || exit 1
	done
fi
if [ "${SHARED:-}" = no ] || [ ! -x "$shared/api/missing.sh" ]; then
	left_out "the names of compat/fasthttp are not compared with fasthttp's"
	exit 0
fi
"$shared/api/missing.sh" --compat compat/fasthttp || rc=1
exit $rc
