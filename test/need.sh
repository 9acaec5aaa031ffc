#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# need.sh WORD…: ends with a sentence when something that a target needs is missing.
# Words: linux, root, or a command's name.
set -eu

declare -A package=([gcc]=gcc [make]=make [git]=git)

missing() { echo "cannot go on: $1" >&2; exit 1; }

for word in "$@"; do
	case $word in
	linux) [ "$(uname -s)" = Linux ] || missing "this needs Linux (a kubelet runs here); this is $(uname -s). Give a cluster with KUBECONFIG=… make demo instead." ;;
	root) [ "$(id -u)" = 0 ] || missing "this needs root, because it starts a kubelet and containers; run it with sudo -E make …, or give a cluster with KUBECONFIG=… make demo." ;;
	go)
		command -v go >/dev/null || missing "Go is not installed; install Go 1.26 or later."
		;;
	*)
		command -v "$word" >/dev/null && continue
		[ -n "${package[$word]:-}" ] || missing "the command $word is not installed."
		if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
			echo "installing Debian package ${package[$word]} for the command $word" >&2
			apt-get install -y -qq "${package[$word]}" >&2
		else
			missing "the command $word is not installed; on Debian and Ubuntu: apt-get install ${package[$word]}."
		fi
		;;
	esac
done
