#!/usr/bin/env bash
# Builds the command for all systems and packs it for a release.
#
#   scripts/release.sh [VERSION]
#
# VERSION is by default the tag of the commit, or devel-COMMIT without one; +dirty is
# added if files were changed. For each of TARGETS, dist/ (or $DIST) gets an archive with
# the binary, the license, completion scripts and a README.txt, and SHA256SUMS has the
# checksums of the archives. The same sources, version and Go release give the same
# bytes, on all systems: binaries have no paths, and the times in archives are
# the commit's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
go=${GO:-go}
dist=${DIST:-dist}
version=${1:-}
if [ -z "$version" ]; then
	version=$(git describe --tags --exact-match 2>/dev/null || echo "devel-$(git rev-parse --short=12 HEAD)")
	[ -z "$(git status --porcelain)" ] || version+=+dirty
fi
time=$(git log -1 --format=%ct)

mkdir -p "$dist"
rm -f "$dist"/gale_*.tar.gz "$dist"/gale_*.zip "$dist/SHA256SUMS"
work=$(mktemp -d "${TMPDIR:-/tmp}/gale-release.XXXXXX")
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0
unset GOOS GOARCH
ldflags="-s -w -X main.released=$version"

# What all archives have in common. Programs for this machine make it.
mkdir -p "$work/common/completions"
"$go" build -trimpath -buildvcs=false -ldflags "$ldflags" -o "$work/gale" ./cmd/gale
"$go" build -trimpath -o "$work/pack" ./scripts/pack
cp LICENSE "$work/common/LICENSE"
"$work/gale" completion bash >"$work/common/completions/gale.bash"
"$work/gale" completion zsh >"$work/common/completions/_gale"
"$work/gale" completion fish >"$work/common/completions/gale.fish"
{
	cat <<END
gale $version

This folder has the program gale, or gale.exe. It needs no installation: put it into
a folder of your PATH. completions/ has files for the shells bash, zsh and fish;
"gale help completion" says where they belong.

"gale help serve" prints the rest of this file.

END
	"$work/gale" help serve
} >"$work/common/README.txt"

for target in ${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}; do
	os=${target%/*} arch=${target#*/} binary=gale form=tar.gz
	[ "$os" != windows ] || binary=gale.exe form=zip
	name=gale_${version}_${os}_$arch
	rm -rf "$work/$name"
	cp -R "$work/common" "$work/$name"
	GOOS=$os GOARCH=$arch "$go" build -trimpath -buildvcs=false -ldflags "$ldflags" -o "$work/$name/$binary" ./cmd/gale
	"$work/pack" -time "$time" -o "$dist/$name.$form" "$work/$name"
	echo "$dist/$name.$form"
done
"$work/pack" -sums "$dist" >"$work/SHA256SUMS"
mv "$work/SHA256SUMS" "$dist/SHA256SUMS"
echo "$dist/SHA256SUMS"
