# shellcheck shell=bash
# What the scripts beside this file share: it looks for Swift and for the packages that Fieldcast
# needs, and installs the packages that are missing. Meant for Debian and Ubuntu.

# The package manifest is written for 6.2; everything is tested with 6.3.
least_swift=6.2

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "$(basename "$0"): $*"
  exit 69
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "needs root for: $*. Run it as root, or install sudo."
  fi
}

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Installs those of the named packages that are missing.
install_missing() {
  local missing=() package
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "No apt here: these must be there already, under the names that this system gives them:"
    say "  $*"
    return
  fi
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  say "installing ${missing[*]}"
  # Package lists that are a little old still install; lists that are not there do not.
  as_root apt-get -q update >&2 || say "apt-get update failed; trying with the lists at hand"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
    -o DPkg::Lock::Timeout=120 "${missing[@]}" >&2 ||
    fail "these packages could not be installed: ${missing[*]}"
}

# A toolchain that was unpacked from an archive brings neither its libraries nor a C++ library to
# link with.
require_swift() {
  command -v swift >/dev/null || fail \
    "swift is not in PATH. Install Swift 6.3 from swift.org and add its usr/bin to PATH."
  if ! swift --version >/dev/null 2>&1 || ! compgen -G '/usr/lib/gcc*/*/*/crtbegin*.o' >/dev/null
  then
    install_missing binutils g++ libc6-dev libcurl4 libedit2 libncurses6 libsqlite3-0 libxml2 \
      libz3-4 tzdata zlib1g-dev
  fi
  local answer version
  answer=$(swift --version 2>&1) || fail "swift does not start: $answer"
  version=$(sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' <<<"$answer")
  [ -n "$version" ] || fail "swift --version names no version: $answer"
  if [ "$(printf '%s\n' "$least_swift" "$version" | sort -V | head -n 1)" != "$least_swift" ]; then
    fail "Swift $version is too old: $least_swift or newer is needed, best 6.3."
  fi
  say "swift $version"
}

# The C libraries, and a Redis to start. Its system service is neither needed nor used.
install_packages() {
  local wanted=(libssl-dev libnghttp2-dev libhiredis-dev)
  command -v redis-server >/dev/null || wanted+=(redis-server)
  command -v curl >/dev/null || wanted+=(curl)
  install_missing "${wanted[@]}"
}
