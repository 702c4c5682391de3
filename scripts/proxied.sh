#!/usr/bin/env bash
# Runs the conformance corpus against Gale alone and against Gale behind a Gale proxy
# (package reverse), and prints the verdicts that differ.
#
#	scripts/proxied.sh [-engine block|event] [flags of h1run]
#
# The corpus is looked for in $GALE_SHARED, by default ../shared.
set -u
cd "$(dirname "$0")/.."
shared=${GALE_SHARED:-../shared}
engine=event
if [ "${1:-}" = -engine ]; then
	engine=$2
	shift 2
fi
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid"; rm -rf "$work"' EXIT
go build -o "$work/contract" ./tests/contract || exit 1
(cd "$shared/conformance/h1run" && GOWORK=off go build -o "$work/h1run" .) || exit 1
bash "$shared/conformance/mkwww.sh" "$work/www" || exit 1

# run NAME FLAG...: one run of the corpus against a server with these flags.
run() {
	local name=$1 port=$((23000 + RANDOM % 2000))
	shift
	"$work/contract" -addr "127.0.0.1:$port" -dir "$work/www" -engine "$engine" "$@" >"$work/$name.log" 2>&1 &
	pid=$!
	for _ in $(seq 100); do
		(: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
		sleep 0.05
	done
	"$work/h1run" -cases "$shared/conformance/h1cases.json" -addr "127.0.0.1:$port" -j 8 "${flags[@]}" >"$work/$name.txt" 2>&1
	kill "$pid"
	wait "$pid" 2>/dev/null
	pid=
	echo "== $name"
	sed -n '/^---- totals/,$p' "$work/$name.txt"
}

flags=("$@")
run alone
run proxied -reverse
echo "== differences: < alone, > proxied"
diff <(grep -E '^FAIL|^INV' "$work/alone.txt" | sort) <(grep -E '^FAIL|^INV' "$work/proxied.txt" | sort)
echo "== why"
grep -E -A2 '^FAIL' "$work/proxied.txt"
