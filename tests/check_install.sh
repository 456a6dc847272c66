#!/usr/bin/env bash
# Installs a build to a temporary prefix, then builds and runs the two consumers against it, from
# copies outside the tree, so that nothing but the installed files can be found.
# Usage: check_install.sh BUILD_DIR SOURCE_DIR
set -euo pipefail

if (($# != 2)); then
  echo "usage: check_install.sh BUILD_DIR SOURCE_DIR" >&2
  exit 2
fi
build=$(realpath "$1")
source=$(realpath "$2")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

# Runs a command quietly; shows what it said only when it fails.
quietly() {
  "$@" >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    echo "error: failed: $*" >&2
    exit 1
  }
}

expect_version() {
  local said
  said=$("$1")
  if ! grep -qxF "glassformer $version" <<<"$said"; then
    echo "error: ${1#"$work"/} printed \"$said\"; expected the line \"glassformer $version\"" >&2
    exit 1
  fi
}

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
quietly cmake --install "$build" --prefix "$prefix"

# Only the sources: someone may have built the examples in place.
mkdir "$work/find_package" "$work/pkg_config"
cp "$source"/examples/find_package/{CMakeLists.txt,main.cc} "$work/find_package"
cp "$source"/examples/pkg_config/{Makefile,main.cc} "$work/pkg_config"

quietly cmake -S "$work/find_package" -B "$work/find_package/build" -G Ninja \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix"
quietly cmake --build "$work/find_package/build"
expect_version "$work/find_package/build/consumer"

pc=$(find "$prefix" -name glassformer.pc)
if [[ -z $pc ]]; then
  echo "error: no glassformer.pc was installed" >&2
  exit 1
fi
export PKG_CONFIG_PATH=${pc%/*}
quietly make -C "$work/pkg_config"
expect_version "$work/pkg_config/consumer"

echo "install: find_package and pkg-config both work, version $version"
