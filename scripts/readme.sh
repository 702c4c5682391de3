#!/usr/bin/env bash
# Does what README.md and docs/getting-started.md say, literally, in an empty folder
# with an empty module cache and a clone of this repository beside it.
#
#   scripts/readme.sh [FILE.md...]     these documents instead
#
# Each document starts in a new folder. Its fenced blocks are read from the Markdown:
#
#   sh              run with bash -e, in the folder that the last block ended in. A URL
#                   of this repository after git clone is replaced by the clone.
#   go, json, ...   written to the file that the paragraph before the block names in
#                   backquotes. Left out if it names none.
#   console         lines that begin with "$ " are run as sh, one after the other; the
#                   other lines are what they must print.
#   text, json      directly after a block of sh: its expected output, line by line.
#
# In expected output "..." stands for anything within a line.
#
# If the paragraph before a block says "another terminal", the block of sh before it
# starts a server: it runs on until the next block of sh that is not run in another
# terminal. So does COMMAND if the paragraph says "run it with `COMMAND`" or "run it
# again with `COMMAND`". curl waits for the server to listen.
#
# A `gale bench` in the clone must have a result; its verdict may be any.
# For `go test ./...` in the clone the script only loads all packages and their modules,
# since the tests take long and run elsewhere; README_TESTS=run runs them, too.
# README_KEEP=yes keeps the folder.
#
# The only network access is to the module proxy. If it can't be reached, or there is no
# curl, the script says so and ends with status 0. If a block fails, it prints the block's
# line and ends with status 1.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
checkout=$PWD
documents=("$@")
[ $# -gt 0 ] || documents=(README.md docs/getting-started.md)

command -v curl >/dev/null || { echo "LEFT OUT: curl is not installed"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/gale-readme.XXXXXX") || exit 1
server= block=
# stop_server ends the server and all that it has started.
stop_server() {
	[ -n "$server" ] || return 0
	kill -TERM -- "-$server" 2>/dev/null
	for _ in $(seq 50); do
		kill -0 -- "-$server" 2>/dev/null || break
		sleep 0.1
	done
	kill -KILL -- "-$server" 2>/dev/null
	wait "$server" 2>/dev/null
	server=
}
cleanup() {
	[ -z "$block" ] || kill -KILL -- "-$block" 2>/dev/null # it has a process group of its own
	stop_server
	if [ "${README_KEEP:-}" = yes ]; then
		echo "kept: $work"
		return
	fi
	chmod -R u+w "$work"
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# With -trimpath the build cache has what an earlier run compiled in another folder.
export GOMODCACHE=$work/modules GOFLAGS="${GOFLAGS:-} -modcacherw -trimpath" GOWORK=off
export README_WORK=$work README_CLONE=$work/clone README_TESTS=${README_TESTS:-}
git clone --quiet --local "$checkout" "$work/clone" || exit 1
# What isn't committed counts too: the clone gets the files as they are.
git ls-files -z --cached --others --exclude-standard |
	while IFS= read -r -d '' f; do [ ! -e "$f" ] || printf '%s\0' "$f"; done |
	tar -c --null --files-from=- | tar -x -C "$work/clone" || exit 1

# Every module comes from the proxy, so try one that all need.
module=$(awk '$1 ~ /^github.com\/klauspost\/compress$/ { print $1 "@" $2; exit }' go.mod)
if ! (cd "$work" && timeout 60 go mod download "$module") >"$work/proxy" 2>&1; then
	echo "LEFT OUT: the module proxy can't be reached: $(tail -n 1 "$work/proxy")"
	exit 0
fi

# What blocks of sh get besides bash: the clone in place of the repository on the network, a
# curl that waits for the server, and tests of the clone that are loaded only.
cat >"$work/functions" <<'END'
git() {
	if [ "${1:-}" = clone ] && [[ ${2:-} == https://*/gale || ${2:-} == https://*/gale.git ]]; then
		command cp -R "$README_CLONE" "${3:-gale}"
		return
	fi
	command git "$@"
}
curl() { command curl --silent --show-error --retry 120 --retry-delay 1 --retry-connrefused --max-time 180 "$@" 2> >(grep -v -e '^Warning: ' -e '^curl: (7) ' >&2); }
go() {
	if [ "$*" = "test ./..." ] && [ -f tests/arch/calls.txt ] && [ "$README_TESTS" != run ]; then
		command go list -deps -test ./... >/dev/null
		return
	fi
	# A machine that is busy, or too small for both sides, is no fault of the document:
	# gale bench says so and fails, but has a result.
	if [[ "$*" == "run ./cmd/gale bench "* ]]; then
		command go "$@" >"$README_WORK/bench" 2>"$README_WORK/bench.err" || {
			cat "$README_WORK/bench.err" # "exit status 6" says that requests failed
			grep '^Requests ' "$README_WORK/bench" && ! grep -q 'exit status 6' "$README_WORK/bench.err"
		}
		return
	fi
	if [ "${1:-}" = run ]; then
		pwd >"$README_WORK/folder"
		: >"$README_WORK/running"
	fi
	command go "$@"
}
export -f git curl go
END

# split FILE DIR: writes the blocks of a document to DIR/N, and to DIR/list a line for each:
# its line, its language, the file that it is, and whether it is run in another terminal.
split() {
	awk -v dir="$2" '
	function again(text) { # the command of: run it again with `COMMAND`
		if (!match(text, /[Rr]un it (again )?with `[^`]+`/)) return ""
		text = substr(text, RSTART, RLENGTH - 1)
		sub(/^[^`]*`/, "", text)
		return text
	}
	function name(text,   found, token) {
		while (match(text, /`[^`]+`/)) {
			token = substr(text, RSTART + 1, RLENGTH - 2)
			text = substr(text, RSTART + RLENGTH)
			if (token ~ /^[A-Za-z0-9_][A-Za-z0-9_.\/-]*\.(go|json|html|css|js|txt|mod|yml|yaml|service|conf)$/)
				found = token
		}
		return found
	}
	/^ *```/ {
		if (!inside) {
			inside = 1
			n++
			lang = $0
			sub(/^ *```/, "", lang)
			sub(/ .*/, "", lang)
			file = lang == "sh" || lang == "console" || lang == "text" ? "" : name(paragraph)
			command = lang == "sh" || lang == "console" ? again(paragraph) : ""
			if (command != "") print command > (dir "/" n ".server")
			printf "%d %s %s %s\n", NR, lang == "" ? "text" : lang, file == "" ? "-" : file, \
				paragraph == "" ? "adjoins" : tolower(paragraph) ~ /(another|second|other) terminal/ ? "another" : "-" > (dir "/list")
			printf "" > (dir "/" n)
		} else {
			inside = 0
			paragraph = ""
		}
		next
	}
	inside { print > (dir "/" n); next }
	/^$/ { blank = 1; next }
	/^<!--/ { next }
	/^#/ { paragraph = "heading"; next }
	{
		if (blank) paragraph = ""
		blank = 0
		paragraph = paragraph " " $0
	}' "$1"
}

# console N: makes a script of the commands in N.sh, and N.want of what they print.
console() {
	awk -v want="$dir/$1.want" '
	function flush() {
		if (command == "") return
		# Output whose last line has no end gets one, as a prompt would give it.
		printf "{ %s\n} >\"$README_WORK/printed\"\ncat \"$README_WORK/printed\"\n[ -z \"$(tail -c 1 \"$README_WORK/printed\")\" ] || echo\n", command
		command = ""
	}
	BEGIN { printf "" > want }
	continued { sub(/^> /, ""); command = command "\n" $0; continued = /\\$/; next }
	/^\$ / { flush(); command = substr($0, 3); continued = /\\$/; next }
	{ print > want }
	END { flush() }' "$dir/$1"
}

# run N [server]: runs a block in the folder that the last one ended in.
run() {
	{
		cat "$work/functions"
		[ -n "${2:-}" ] || echo 'trap '\''pwd >"$README_WORK/folder"'\'' EXIT'
		if [ "${langs[$1 - 1]}" = console ] && [ -z "${2:-}" ]; then console "$1"; else cat "$dir/$1${2:+$3}"; fi
	} >"$dir/$1.sh"
	(cd "$(cat "$work/folder")" && exec timeout --foreground 300 bash -e -o pipefail "$dir/$1.sh")
}

# expected WANT FILE: whether FILE has the lines of WANT.
expected() {
	local want got line=0
	while IFS= read -r want <&3; do
		line=$((line + 1))
		got=
		IFS= read -r got <&4
		got=${got%$'\r'}
		want=$(sed -e 's/[][\\*?]/\\&/g' -e 's/\.\.\./*/g' <<<"$want")
		# shellcheck disable=SC2053
		[[ $got == $want ]] || { echo "line $line of the output is: $got"; return 1; }
	done 3<"$1" 4<"$2"
	[ "$(wc -l <"$2")" -le "$line" ] || { echo "there are more lines:"; tail -n "+$((line + 1))" "$2"; return 1; }
}

# serve N SUFFIX: starts the server of a block, or of N.server.
serve() {
	stop_server
	rm -f "$work/running"
	set -m
	run "$1" server "$2" >"$work/server.out" 2>&1 </dev/null &
	server=$!
	set +m
	: >"$work/before.out"
	# The next blocks run in its folder, which is known at its go run.
	for _ in $(seq 1200); do
		[ ! -e "$work/running" ] && kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
}

fail() {
	echo "FAIL $document:$1: this block $2"
	sed 's/^/    /' "$dir/$3"
	[ ! -s "$work/out" ] || { echo "its output:"; tail -n 40 "$work/out" | sed 's/^/    /'; }
	[ ! -s "$work/server.out" ] || { echo "the server's output:"; tail -n 40 "$work/server.out" | sed 's/^/    /'; }
	exit 1
}

# check_ports FILE: waits until nothing listens on the ports that a document uses.
check_ports() {
	local port
	for port in $(grep -ohE '(127\.0\.0\.1|localhost):[0-9]+' "$1" | grep -oE '[0-9]+$' | sort -u); do
		for _ in $(seq 60); do
			(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || continue 2
			sleep 1
		done
		echo "FAIL: port $port, which $1 uses, is taken by another program"
		exit 1
	done
}

ran=0
for document in "${documents[@]}"; do
	if [ ! -f "$document" ]; then
		echo "LEFT OUT: there is no $document"
		continue
	fi
	dir=$work/blocks/$document
	mkdir -p "$dir" "$work/in/$document"
	echo "$work/in/$document" >"$work/folder"
	# A document that clones nothing expects a clone next to the folder that it makes.
	grep -q '^git clone ' "$document" || cp -R "$work/clone" "$work/in/$document/gale" || exit 1
	split "$document" "$dir"
	check_ports "$document"
	lines=() langs=() files=() how=()
	while read -r line lang file terminal; do
		lines+=("$line") langs+=("$lang") files+=("$file") how+=("$terminal")
	done <"$dir/list"
	: >"$work/server.out"
	before=
	for i in "${!lines[@]}"; do
		n=$((i + 1)) began=$SECONDS
		: >"$work/out"
		where=${lines[$i]}
		if [ "${langs[$i]}" != sh ] && [ "${langs[$i]}" != console ]; then
			if [ "${files[$i]}" != - ]; then
				target=$(cat "$work/folder")/${files[$i]}
				mkdir -p "$(dirname "$target")" && cp "$dir/$n" "$target" || fail "$where" "can't be written" "$n"
				echo "ok   $document:$where: wrote ${files[$i]}"
			elif [ -n "$before" ] && [ "${how[$i]}" = adjoins ]; then
				expected "$dir/$n" "$work/before.out" >"$work/out" || fail "$where" "isn't what the one before prints" "$n"
				echo "ok   $document:$where: as printed"
			else
				echo "--   $document:$where: ${langs[$i]}, not run"
			fi
			before=
			continue
		fi
		ran=$((ran + 1))
		before=$n
		if [ -f "$dir/$n.server" ]; then
			serve "$n" .server
			echo "ok   $document:$where: started $(cat "$dir/$n.server")"
		elif [ "${langs[$i]}" = sh ] && [ "${how[$i]}" != another ]; then
			stop_server
		fi
		next=$((i + 1))
		while [ -n "${langs[$next]:-}" ] && [[ ${langs[$next]} != sh && ${langs[$next]} != console ]]; do next=$((next + 1)); done
		if [ "${langs[$i]}" = sh ] && [ "${how[$i]}" != another ] && [ "${how[$next]:-}" = another ]; then
			serve "$n" ""
			echo "ok   $document:$where: started"
			continue
		fi
		set -m
		run "$n" >"$work/before.out" 2>"$work/out" </dev/null &
		block=$!
		set +m
		while kill -0 "$block" 2>/dev/null; do
			if [ -n "$server" ] && ! kill -0 "$server" 2>/dev/null; then
				kill -KILL -- "-$block" 2>/dev/null
				wait "$block" 2>/dev/null
				fail "$where" "has no server: it has ended" "$n"
			fi
			sleep 0.05
		done
		wait "$block" || { cat "$work/before.out" >>"$work/out"; fail "$where" "failed" "$n"; }
		block=
		if [ "${langs[$i]}" = console ]; then
			expected "$dir/$n.want" "$work/before.out" >"$work/out" || fail "$where" "doesn't print what it says" "$n"
		fi
		echo "ok   $document:$where: ran, $((SECONDS - began)) s"
	done
	stop_server
done
[ "$ran" -gt 0 ] || { echo "FAIL: no block was run"; exit 1; }
echo "$ran blocks ran in $SECONDS s"
