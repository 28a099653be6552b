#!/bin/sh
# servers.sh PACKAGE@VERSION FILE: build a server that tests run against. It is built in a module of its
# own that is then thrown away, so its libraries choose no version for this tree.
set -eu

file=$PWD/$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo "building $1, once"
mkdir -p "$(dirname "$file")"
cd "$folder"
export GOWORK=off GOFLAGS="-mod=mod -gcflags=all=-dwarf=false" CGO_ENABLED=0
go mod init server >build.log 2>&1 && go get "$1" >>build.log 2>&1 && go build -trimpath -o "$file" "${1%@*}" >>build.log 2>&1 || {
	cat build.log >&2
	exit 1
}
