#!/bin/sh
# reproducible.sh: make the program of the last commit and its release twice, in two folders and with two caches, and compare.
set -eu
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder" && rm -rf "$folder"' EXIT

git clone -q . "$folder/first"
git clone -q . "$folder/second/folder"
export SIGN=no VERSION="${VERSION:-v0.0.0-trial}" PLATFORMS="${PLATFORMS:-linux/amd64 linux/arm64}"
for tree in first second/folder; do
	make -s -C "$folder/$tree" build
	make -s -C "$folder/$tree" release
	export GOCACHE="$folder/cache"
done
(cd "$folder" && sha256sum first/.bin/snowfence second/folder/.bin/snowfence)
cmp "$folder/first/.bin/snowfence" "$folder/second/folder/.bin/snowfence"
cat "$folder/first/.bin/release/SHA256SUMS"
diff -r "$folder/first/.bin/release" "$folder/second/folder/.bin/release"
"$folder/first/.bin/snowfence" version
