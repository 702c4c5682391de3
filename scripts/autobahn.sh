#!/usr/bin/env bash
# Judges tests/wsecho by the Autobahn testsuite: the server with each API, on each engine, in
# the clear and over TLS, and the client.
#
#   scripts/autobahn.sh [-q | -g GROUPS] [-j JOBS] [-o DIR] [RUN...]
#
# RUN is API-ENGINE-TRANSPORT, such as event-block-tls, or client. Without one, all of these
# run: event and conn, event and block, clear and tls, and client. -q takes groups 1 to 7
# and 10 only: 11 s a run; -g takes those that it names, such as '9 12.3'. All 517 cases take
# 5 to 10 minutes. So many JOBS (default 1) run at a time. Reports are kept in DIR; without -o only those of runs that didn't pass are
# kept, in a folder that the end names.
#
# Each run is a line: how many cases are OK, informational, not strict, unimplemented, failed
# and without a result. The exit status is 1 unless all are OK or informational.
#
# The testsuite comes from $GALE_SHARED/websocket, by default ../shared/websocket next to the
# checkout. It is installed into $AUTOBAHN, or into a folder that is removed at the end.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
suite=${GALE_SHARED:-$PWD/../shared}/websocket

groups='' jobs=1 out=
while getopts qg:j:o: o; do
	case $o in
	q) groups='1 2 3 4 5 6 7 10' ;;
	g) groups=$OPTARG ;;
	j) jobs=$OPTARG ;;
	o) out=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
runs=("$@")
[ $# -gt 0 ] || runs=({event,conn}-{event,block}-{clear,tls} client)
for run in "${runs[@]}"; do
	[[ $run =~ ^((event|conn)-(event|block)-(clear|tls)|client)$ ]] || { echo "there is no run $run"; exit 2; }
done
[ -x "$suite/run_autobahn.sh" ] || { echo "there is no $suite"; exit 2; }

work=$(mktemp -d "${TMPDIR:-/tmp}/gale-autobahn.XXXXXX") || exit 1
kept=${out:-$work/reports}
mkdir -p "$kept" && kept=$(cd "$kept" && pwd) || exit 1
failed=0
cleanup() {
	# shellcheck disable=SC2046
	kill $(jobs -p) 2>/dev/null
	if [ -z "$out" ] && [ $failed = 1 ]; then
		find "$work" -mindepth 1 -maxdepth 1 ! -path "$kept" -exec rm -rf {} +
		echo "reports: $kept"
	else
		rm -rf "$work"
	fi
}
trap cleanup EXIT
trap 'exit 130' INT TERM

autobahn=${AUTOBAHN:-$work/suite}
# installed: whether the testsuite starts. Its installer looks for that too, but may miss it on
# a busy machine.
installed() { [[ $("$autobahn/wstest" --autobahnversion 2>/dev/null) = *"Autobahn 0."* ]]; }
if ! installed && ! "$suite/autobahn.sh" "$autobahn" >"$work/install.log" 2>&1 && ! installed; then
	tail -n 20 "$work/install.log"
	echo "the testsuite can't be installed"
	exit 1
fi
go build -o "$work/wsecho" ./tests/wsecho || exit 1

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_port: prints a port on loopback that nothing listens on.
free_port() {
	local port
	while port=$((20000 + RANDOM % 10000)); do
		listens "$port" || break
	done
	echo "$port"
}

# judge RUN: prints what the testsuite says. The status is not 0 if a case failed.
judge() {
	local api engine transport port scheme=ws flags=() server rc
	# shellcheck disable=SC2086
	if [ "$1" = client ]; then
		PORT=$(free_port) OUT=$kept/$1 "$suite/run_autobahn.sh" "$autobahn" client "$work/wsecho -client -deflate" $groups
		return
	fi
	IFS=- read -r api engine transport <<<"$1"
	[ "$transport" = clear ] || scheme=wss flags=(-tls)
	port=$(free_port)
	"$work/wsecho" -addr "127.0.0.1:$port" -api "$api" -engine "$engine" -deflate "${flags[@]}" >"$kept/$1.server.log" 2>&1 &
	server=$!
	for ((i = 0; i < 100; i++)); do
		listens "$port" && break
		sleep 0.1
	done
	# shellcheck disable=SC2086
	OUT=$kept/$1 "$suite/run_autobahn.sh" "$autobahn" server "$scheme://127.0.0.1:$port/" $groups
	rc=$?
	kill $server 2>/dev/null || { echo "the server has ended"; rc=1; }
	wait $server 2>/dev/null
	return $rc
}

# line RUN: judges and prints the line of the run, and the cases that are not OK.
line() {
	local log=$kept/$1.log rc=0 all
	judge "$1" >"$log" 2>&1 || rc=1
	# Columns: cases, OK, informational, not strict, unimplemented, failed, no result, seconds.
	all=$(awk '$1 == "all" {
		printf "%d of %d OK, %d info, %d non-strict, %d unimplemented, %d failed, %d without a result, %.0f s", $3, $2, $4, $5, $6, $7, $8, $9
		exit $3 + $4 != $2
	}' "$log") || rc=1
	[ -n "$all" ] || { all="no result: $(tail -n 1 "$log")"; rc=1; }
	echo "$1: $all"
	grep -E '^[0-9]+\.[0-9]+\.[0-9]+ ' "$log" | sed 's/^/    /'
	[ -s "$kept/$1.server.log" ] && tail -n 5 "$kept/$1.server.log" | sed 's/^/    server: /'
	[ $rc != 0 ] || [ -n "$out" ] || rm -rf "${kept:?}/$1" "$log"
	return $rc
}

running=0
for run in "${runs[@]}"; do
	if [ $running -ge "$jobs" ]; then
		wait -n || failed=1
		running=$((running - 1))
	fi
	line "$run" &
	running=$((running + 1))
done
while [ $running -gt 0 ]; do
	wait -n || failed=1
	running=$((running - 1))
done
exit $failed
