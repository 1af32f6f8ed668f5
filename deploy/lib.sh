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

# Others' programs that the tests hold Fieldcast against. What cannot be had is left out; a file
# beside it says why, and the tests that need it say so too.
install_peers() {
  local wanted=(nghttp2-client nghttp2-server)
  /usr/bin/python3 -c 'import ensurepip' 2>/dev/null || wanted+=(python3-venv)
  install_missing "${wanted[@]}"
  mkdir -p .build
  install_program nginx usr/sbin/nginx nginx nginx-light nginx-core
  install_program prometheus usr/bin/prometheus prometheus
  install_python_clients
  install_browser
}

# Only the program, into the build's folder: the package would start a server of its own. Debian's
# and Ubuntu's releases have some programs in different packages: the first that has it is taken.
install_program() {
  local name=$1 path=$2 servers=.build/servers why_not=.build/$1.missing problem
  shift 2
  rm -f "$why_not"
  if [ -x "/$path" ] || [ -x "$servers/$path" ]; then return; fi
  say "unpacking $name into $servers"
  if ! problem=$(
    exec 2>&1
    command -v apt-get || { echo "no apt here"; exit 1; }
    mkdir -p "$servers" && cd "$servers" || exit 1
    for package in "$@"; do
      apt-get -q download "$package" && dpkg-deb -x "$package"_*.deb . && rm -f ./*.deb
      [ ! -x "$path" ] || break
    done
    "$path" --version || "$path" -v
  ); then
    rm -f "$servers/$path"
    echo "$name cannot be had: $(tail -n 1 <<<"$problem")" >"$why_not"
    say "$(<"$why_not")"
  fi
}

# A browser for the dashboard's tests, which are left out where it cannot be had: some systems have
# it in other forms than packages.
install_browser() {
  local why_not=.build/chromium.missing name
  rm -f "$why_not"
  for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then return; fi
  done
  (install_missing chromium) || {
    echo "chromium cannot be installed" >"$why_not"
    say "$(<"$why_not")"
  }
}

# Public clients of APNs and of REST, in a virtual environment of the build.
install_python_clients() {
  local clients=.build/clients why_not=.build/clients.missing problem wanted
  wanted=$(cat Tests/InteroperabilityTests/Clients/requirements.txt \
    Tests/ServiceTests/Description/Clients/requirements.txt)
  rm -f "$why_not"
  if [ -x "$clients/bin/python" ] && cmp -s <(echo "$wanted") "$clients/installed.txt"; then return; fi
  say "installing ${wanted//$'\n'/ } into $clients"
  rm -rf "$clients"
  if problem=$(
    exec 2>&1
    /usr/bin/python3 -m venv "$clients" &&
      "$clients/bin/python" -m pip install -q --disable-pip-version-check --retries 1 \
        --timeout 20 -r <(echo "$wanted")
  ); then
    echo "$wanted" >"$clients/installed.txt"
  else
    rm -rf "$clients"
    echo "Python's clients cannot be had: $(tail -n 1 <<<"$problem")" >"$why_not"
    say "$(<"$why_not")"
  fi
}
