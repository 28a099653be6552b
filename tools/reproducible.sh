#!/bin/sh
# reproducible.sh: build the program of the last commit twice, in two folders and with two caches, and compare.
set -eu
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder" && rm -rf "$folder"' EXIT

git clone -q . "$folder/first"
git clone -q . "$folder/second/folder"
make -s -C "$folder/first" build
GOCACHE="$folder/cache" make -s -C "$folder/second/folder" build
(cd "$folder" && sha256sum first/.bin/snowfence second/folder/.bin/snowfence)
cmp "$folder/first/.bin/snowfence" "$folder/second/folder/.bin/snowfence"
"$folder/first/.bin/snowfence" version
