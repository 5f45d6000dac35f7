#!/usr/bin/env bash
# Builds a current etcdctl from the Go module proxy and prints where it is.
#
#   test/interop/build-etcdctl.sh [VERSION]        default v3.7.3
#
# `go install etcdctl/v3@version` is refused because that module's go.mod has replace directives,
# so the binary is built from a throw-away module that only requires it. The result is kept under
# ~/.cache/lockstep-tools and reused.
set -euo pipefail

version="${1:-${ETCDCTL_VERSION:-v3.7.3}}"
tools="${LOCKSTEP_TOOLS:-$HOME/.cache/lockstep-tools}"
binary="$tools/etcdctl-$version"

if [ ! -x "$binary" ]; then
  work="$(mktemp -d)"
  trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
  mkdir -p "$tools"
  cd "$work"
  export GOFLAGS=-mod=mod CGO_ENABLED=0
  {
    go mod init lockstep.invalid/etcdctl
    go get "go.etcd.io/etcd/etcdctl/v3@$version"
    go build -p 1 -trimpath -ldflags='-s -w' -o "$work/etcdctl" go.etcd.io/etcd/etcdctl/v3
  } >&2
  mv "$work/etcdctl" "$binary"
fi
echo "$binary"
