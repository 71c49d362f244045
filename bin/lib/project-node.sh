# Sourced by the commands in bin/. Ensures that the project's packages are installed, including its own Node.js. Sets
# $root, $modules and $node. POSIX sh. Only code that must run before Node.js exists belongs here.

root=$(dirname "$(dirname "$(readlink -f "$0")")")
modules=$root/node_modules
node=$modules/.bin/node

fail() {
  echo "$1" >&2
  exit 1
}

# Whether node_modules matches package-lock.json: installed by us (per the stamp), or by hand since the last change of
# the lock file (npm's own record is newer).
is_installed() {
  [ -x "$node" ] || return 1
  [ "$modules/.package-lock.json" -nt "$root/package-lock.json" ] && return 0
  [ -f "$modules/.offshoot-lock" ] && [ "$(cat "$modules/.offshoot-lock")" = "$1" ]
}

# A release has no tests and no tools for development, not even those that are optional peers of its packages. Its
# packages run no scripts (docs/adr/0034-npm-package.md).
omit=
[ ! -f "$root/release.json" ] || omit="--omit=dev --legacy-peer-deps --ignore-scripts"

lock_hash=$(sha256sum <"$root/package-lock.json")
if ! is_installed "$lock_hash"; then
  command -v npm >/dev/null && command -v node >/dev/null ||
    fail "Offshoot needs Node.js and npm to install itself: apt-get install -y nodejs npm."
  mkdir -p "$root/.offshoot"
  # Another start may be installing: npm ci removes what is there. npm inherits the lock, so it holds if we are killed.
  exec 9>"$root/.offshoot/install.lock"
  flock 9
  if ! is_installed "$lock_hash"; then
    echo "Installing Node.js packages"
    rm -f "$modules/.offshoot-lock"
    (cd "$root" && npm ci $omit --no-audit --no-fund --loglevel=error >/dev/null) || fail "npm ci failed in $root."
    [ -x "$node" ] || fail "There is no Node.js 24 for this machine ($(uname -sm)); Offshoot runs on Linux, x86_64 and aarch64."
    echo "$lock_hash" >"$modules/.offshoot-lock"
  fi
  exec 9>&-
fi

# Caches compiled code, which saves a third of our processes' start time. Node.js ignores a cache that it cannot write.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE-$root/.offshoot/compile-cache}"
