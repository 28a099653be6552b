#!/bin/sh
# vulnerabilities.sh DATABASE: ask a database of known vulnerabilities about every module of the tree, and fail for
# each that is found, and where it can't be asked.
set -eu
cd "$(dirname "$0")/.."

found=
for file in $(git ls-files go.mod '*/go.mod'); do
	module=$(dirname "$file") packages=./...
	if grep -q '^tool ' "$file"; then
		packages="$packages tool"
	fi
	echo "== $module"
	status=0
	# shellcheck disable=SC2086 # $packages is a list of words.
	(cd "$module" && GOWORK=off "$OLDPWD/.bin/govulncheck" -db "$1" $packages) || status=$?
	case $status in
	0) ;;
	3) found="$found $module" ;;
	*)
		echo "nothing is known of $module and of the modules after it: the check could not be made" >&2
		echo "it needs $1, or a copy: make vulnerabilities DATABASE=file:///FOLDER" >&2
		exit 1
		;;
	esac
done

[ -z "$found" ] || {
	echo "known vulnerabilities in:$found" >&2
	exit 1
}
echo "no known vulnerability in any module"
