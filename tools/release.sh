#!/bin/sh
# release.sh: make the release VERSION of the last commit into .bin/release.
#
#	VERSION=v0.1.0 KEY=~/.ssh/release tools/release.sh
#
# KEY is a key of ssh-keygen, which signs the sums and the bills of materials. SIGN=no makes a release without signatures.
# PLATFORMS are those to build for, such as "linux/amd64 linux/arm64".
set -eu
cd "$(dirname "$0")/.."

fail() {
	echo "release: $1" >&2
	exit 1
}

printf '%s\n' "${VERSION:-}" | grep -Eq '^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$' || fail "VERSION is '${VERSION:-}', must be such as v0.1.0"
if [ "${SIGN:-}" = no ]; then
	echo "release: SIGN=no: NOTHING WILL BE SIGNED" >&2
else
	[ -f "${KEY:-}" ] || fail "KEY is '${KEY:-}', must be the file of a key that ssh-keygen made; SIGN=no leaves signatures out"
	command -v ssh-keygen >/dev/null || fail "ssh-keygen is missing (Debian: openssh-client)"
fi
tools/need.sh zip=zip
[ -z "$(git status --porcelain)" ] || echo "release: what is not committed is not in the release" >&2

out=$PWD/.bin/release
folder=$(mktemp -d)
extra=$folder/extra
trap 'rm -rf "$folder"' EXIT
git clone -q . "$folder/tree"
rm -rf "$out"
mkdir -p "$out" "$extra/man/man1" "$extra/completions"

cd "$folder/tree"
# The toolchain takes the version from the tag of the module that it builds.
git tag "cmd/snowfence/$VERSION"
make -s build
case $(.bin/snowfence version) in
"snowfence $VERSION "*\ modified\ *) fail "the tree differs from its commit" ;;
"snowfence $VERSION "*) ;;
*) fail "the program reports $(.bin/snowfence version), not $VERSION" ;;
esac
cp CHANGELOG.md LICENSE README.md "$extra"
for shell in bash zsh fish; do
	.bin/snowfence completion $shell >"$extra/completions/snowfence.$shell"
done
export SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)"
(cd cmd/snowfence && go test -vet=off -ldflags=-w -count=1 -run '^TestEachVerbHasAPageOfTheManual$' . -manual.write "$extra/man/man1" >/dev/null)

programs=
for platform in ${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64}; do
	name=snowfence_${VERSION}_${platform%/*}_${platform#*/}
	program=$folder/$name/snowfence
	[ "${platform%/*}" != windows ] || program=$program.exe
	cp -r "$extra" "$folder/$name"
	GOOS=${platform%/*} GOARCH=${platform#*/} make -s build
	mv .bin/snowfence "$program"
	if [ "${platform%/*}" = windows ]; then
		find "$folder/$name" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
		(cd "$folder" && find "$name" | LC_ALL=C sort | TZ=UTC zip -9Xq@ "$out/$name.zip")
	else
		tar -C "$folder" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+w,go+rX,go-w \
			-cf - "$name" | gzip -9n >"$out/$name.tar.gz"
	fi
	programs="$programs $program"
done
# shellcheck disable=SC2086 # programs are a list
(cd tools && GOWORK=off go run ./release -version "$VERSION" -out "$out" $programs)
chmod -R a+rX "$out"
(cd "$out" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)

if [ "${SIGN:-}" != no ]; then
	for file in "$out"/SHA256SUMS "$out"/*.cdx.json; do
		ssh-keygen -q -Y sign -n file -f "$KEY" "$file"
	done
fi
ls "$out"
