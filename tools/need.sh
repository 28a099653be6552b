#!/bin/sh
# need.sh: make sure that programs are there, or other files named by their whole path.
#
#	tools/need.sh PROGRAM[|PROGRAM...]=PACKAGE[,PACKAGE...] ...
#
# Each PROGRAM that is not on the PATH, or at its whole path, is installed from its Debian packages
# when that is possible (run by root, with apt-get); otherwise this fails and
# names the packages to install. It never carries on without.
set -eu

# found PROGRAM[|PROGRAM...]: whether one of them is there.
found() {
	# shellcheck disable=SC2046 # a pattern is to be expanded.
	for each in $(echo "$1" | tr '|' ' '); do
		case $each in
		/*) [ -e "$each" ] && return ;;
		*) command -v "$each" >/dev/null 2>&1 && return ;;
		esac
	done
	return 1
}

missing= packages=
for want in "$@"; do
	program=${want%%=*}
	if ! found "$program"; then
		missing="$missing $program"
		packages="$packages $(echo "${want#*=}" | tr , ' ')"
	fi
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "missing:$missing" >&2
	echo "install them first; on Debian and its kin: apt-get install$packages" >&2
	exit 1
fi

echo "installing$packages" >&2
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # $packages is a list of words.
if ! apt-get install -y -q --no-install-recommends $packages >&2; then
	# The lists of packages may be missing or out of date.
	apt-get update -q >&2
	apt-get install -y -q --no-install-recommends $packages >&2
fi

for want in "$@"; do
	program=${want%%=*}
	if ! found "$program"; then
		echo "$program is still missing after installing ${want#*=}" >&2
		exit 1
	fi
done
