#!/usr/bin/env bash
# Build the image of DockerSandbox: from a registry's Debian, or from debootstrap where there is none.
set -euo pipefail
cd "$(dirname "$0")"
tag=${1:-rla-coding:latest}
base=debian:bookworm-slim

if ! docker image inspect "$base" >/dev/null 2>&1 && ! docker pull --quiet "$base"; then
  echo "no registry: making the base with debootstrap (minutes)"
  if ! command -v debootstrap >/dev/null; then
    echo "no registry and no debootstrap: apt-get install debootstrap" >&2
    exit 1
  fi
  base=rla-debian:bookworm
  if ! docker image inspect "$base" >/dev/null 2>&1; then
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    # With all packages: a build container without a registry seldom has a network either.
    debootstrap --variant=minbase --include=python3,g++,nodejs bookworm "$root" \
      "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$root.log" \
      || { tail -20 "$root.log" >&2; exit 1; }
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root.log"
    tar -C "$root" -c . | docker import - "$base" >/dev/null
  fi
fi
DOCKER_BUILDKIT=0 docker build --quiet --build-arg BASE="$base" --tag "$tag" . >/dev/null
echo "built $tag from $base"
