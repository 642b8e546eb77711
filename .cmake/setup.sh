# Functions for packages, configuration and build. Scripts such as lessons/run set `program` and then source this file.
# lessons/run must work on macOS, so its functions need only bash 3.2, and no options that only GNU tools have.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 2
export LC_ALL=C.UTF-8
[ "$(uname)" != Darwin ] || export LC_ALL=en_US.UTF-8 # macOS has no C.UTF-8
{ : <&0; } 2>/dev/null || exec </dev/null # replace a closed stdin by an empty one

packages_build="g++ cmake ninja-build libfmt-dev libxsimd-dev libcli11-dev nlohmann-json3-dev libutf8proc-dev"
packages_tests="catch2 libopenmpi-dev openmpi-bin"
packages_bench="catch2 libbenchmark-dev libopenblas0-openmp python3"
packages_counts="valgrind"
packages_clang="clang-14 libclang-rt-14-dev"
packages_book="python3 python3-venv fonts-texgyre fonts-texgyre-math fonts-jetbrains-mono"
packages_reference="doxygen"
packages_browser="$packages_book $packages_reference chromium"
packages_wasm="emscripten"
packages_network="iproute2"
packages_ci="$packages_clang clang-format-14 libbenchmark-dev $packages_counts python3 git"
cores=$(nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 1)

say() { printf '%s\n' "$*"; }
die() {
  printf '%s: %s\n' "$program" "$*" >&2
  exit 2
}

# asks_for_help argument…: succeeds if any argument is -h or --help. Help never installs or builds anything.
asks_for_help() {
  local argument
  for argument; do
    case $argument in -h | --help) return 0 ;; esac
  done
  return 1
}
# offer_help usage argument…: prints `usage` and exits if any argument asks for help.
offer_help() {
  local usage=$1
  shift
  asks_for_help "$@" || return 0
  printf '%s\n' "$usage"
  exit 0
}
# shown argument: quotes an argument for a message. Control characters, invalid bytes and marks that change the
# direction of text become "?"; a long argument is truncated.
shown() {
  local text=${1//[![:print:]]/?} mark
  for mark in $'\342\200\216' $'\342\200\217' $'\342\200\252' $'\342\200\253' $'\342\200\254' $'\342\200\255' \
    $'\342\200\256' $'\342\201\246' $'\342\201\247' $'\342\201\250' $'\342\201\251'; do
    text=${text//$mark/?}
  done
  [ ${#text} -le 60 ] || text=${text:0:60}…
  printf '"%s"' "$text"
}
# refuse_more command argument…: stops with an error if an argument follows `command`, which takes none.
refuse_more() {
  [ $# -eq 1 ] || die "$1 takes no argument, got $(shown "$2") (--help lists the options)"
}

# look_at_width: sets `wide` to the number of columns of the terminal at standard output, or to nothing if there is no
# terminal or its width is unknown.
look_at_width() {
  wide=""
  [ ! -t 1 ] || { wide=$(stty size <&3 2>/dev/null); } 3>&1
  wide=${wide#* }
  [ "$wide" != 0 ] || wide=""
}
# fit: copies stdin to stdout, and wraps lines that are wider than the terminal.
fit() {
  local line row word wide
  look_at_width
  [ -n "$wide" ] || exec cat
  while IFS= read -r line; do
    if [ ${#line} -gt "$wide" ]; then
      row=""
      for word in $line; do
        if [ -n "$row" ] && [ $((${#row} + 1 + ${#word})) -gt "$wide" ]; then
          printf '%s\n' "$row"
          row="  $word"
        else
          row=${row:+$row }$word
        fi
      done
      line=$row
    fi
    printf '%s\n' "$line"
  done
}

# as_seen_from_here: prints the project's folder for messages, relative to the current folder if realpath supports that.
as_seen_from_here() { realpath --relative-to=. "$root" 2>/dev/null || printf %s "$root"; }

# lock [seconds]: lets one run at a time install and build. Another run waits until the first has built, and says so
# after this many seconds (default 0). Without flock, runs do not wait for each other.
lock() {
  # The first redirection fails without bash's own message.
  { mkdir -p build && : >>build/.lock; } 2>/dev/null && exec 9>build/.lock || die "cannot write to $root/build"
  command -v flock >/dev/null || return 0
  flock -n 9 || flock -w "${1:-0}" 9 || { say "another run is building; waiting until it has finished" && flock 9; }
}
unlock() { exec 9>&-; }

# how_to_install: prints the command that installs the build's packages on a system without apt-get, or nothing if the
# system is unknown.
how_to_install() {
  if command -v dnf >/dev/null; then
    echo "dnf install gcc-c++ cmake ninja-build fmt-devel xsimd-devel cli11-devel json-devel utf8proc-devel catch-devel"
  elif command -v pacman >/dev/null; then
    echo "pacman -S base-devel cmake ninja fmt xsimd cli11 nlohmann-json utf8proc catch2"
  elif command -v zypper >/dev/null; then
    echo "zypper install gcc-c++ cmake ninja git, and TAPESTRY_OPTIONS=-DTAPESTRY_FETCH_DEPENDENCIES=ON, which downloads the rest"
  elif command -v apk >/dev/null; then
    echo "apk add g++ cmake samurai git, and TAPESTRY_OPTIONS=-DTAPESTRY_FETCH_DEPENDENCIES=ON, which downloads the rest"
  elif command -v brew >/dev/null; then
    echo "brew install cmake ninja fmt xsimd cli11 nlohmann-json utf8proc catch2"
  elif [ "$(uname)" = Darwin ]; then
    echo "xcode-select --install, then Homebrew (brew.sh), and start again"
  fi
}

# need package…: installs the missing packages with apt-get. On other systems, checks that the tools exist.
need() {
  local missing as_root="" how
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    how=$(how_to_install)
    have_tools || die "a compiler, CMake or Ninja is missing: ${how:-install what Debian calls $*} and start again"
    return 0
  fi
  missing=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
    awk -v wanted="$*" '$2 == "installed" { have[$1] }
      END { n = split(wanted, w, " "); for (i = 1; i <= n; i++) if (!(w[i] in have)) printf "%s ", w[i] }')
  [ -z "$missing" ] && return 0
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null; then
      as_root=sudo
    elif have_tools; then
      say "apt-get has not installed ${missing% }; trying without"
      return 0
    else
      die "packages are missing, and installing them needs root or sudo: run \"apt-get install ${missing% }\" as root"
    fi
  fi
  say "installing with apt-get: ${missing% }"
  # shellcheck disable=SC2086
  { $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing; } \
    >build/install.log 2>&1 9>&- || {
    tail -n 5 build/install.log >&2
    die "apt-get could not install ${missing% } (log: build/install.log)"
  }
}
# python_packages folder list: creates a virtual environment with the packages in the list, and creates it again when
# the list has changed. Fails with a message if Python has no venv, or if the packages cannot be downloaded.
python_packages() {
  local folder=$1 list=$2 log=build/book/install.log lists
  lists=$(cat "$(dirname "$list")"/requirements*.txt)
  [ "$(cat "$folder/installed.txt" 2>/dev/null)" != "$lists" ] || return 0
  say "installing Python packages in $folder"
  rm -rf "$folder"
  mkdir -p build/book
  if ! { python3 -m venv "$folder" && "$folder/bin/pip" install -q --disable-pip-version-check -r "$list"; } \
    >$log 2>&1 9>&-; then
    tail -n 5 $log >&2
    printf '%s\n' "$program: the Python packages could not be installed (log: $log)" >&2
    return 1
  fi
  printf '%s\n' "$lists" >"$folder/installed.txt"
}
have_tools() { command -v cmake >/dev/null && command -v ninja >/dev/null && command -v c++ >/dev/null; }

# configure preset folder option…: runs CMake, unless the folder is already configured with these options.
configure() {
  local preset=$1 folder=$2 option cache=$2/CMakeCache.txt todo=""
  shift 2
  if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    say "$folder was configured for another project folder; deleting it and starting again"
    rm -rf "$folder"
  fi
  [ -f "$folder/build.ninja" ] || todo=yes
  for option in "$@"; do
    option=${option#-D}
    [ -n "$todo" ] || grep -q "^${option%%=*}:[A-Z]*=${option#*=}\$" "$cache" || todo=yes
  done
  [ -n "$todo" ] || return 0
  say "configuring $folder"
  mkdir -p "$folder"
  if ! cmake --preset "$preset" -B "$folder" "$@" >"$folder/configure.log" 2>&1; then
    rm -f "$folder/build.ninja"
    sed -n '/CMake Error/,$p' "$folder/configure.log" >&2
    command -v apt-get >/dev/null || [ -z "$(how_to_install)" ] || say "on this system: $(how_to_install)" >&2
    die "CMake could not configure $folder (log: $folder/configure.log)"
  fi
  sed -n 's/^-- Tapestry: /  /p' "$folder/configure.log"
}

# exercises_in_pages [lesson…]: makes build/wasm/practise, with which the exercises of all lessons, or of these, are
# written and checked in the book's pages. Without it the book still shows them.
exercises_in_pages() {
  local packages
  command -v npm >/dev/null || (need npm) || return 1
  command -v zstd >/dev/null || (need zstd) || return 1
  packages=$(practise_packages) || return 1
  cp lessons/web/practise/*.mjs "$packages" || return 1
  say "making the exercises for their pages"
  node "$packages/build.mjs" . build/wasm "$packages" "$@"
}
# practise_packages: installs the packages of lessons/web/practise with npm, once for each package-lock.json, and prints
# their folder.
practise_packages() {
  local source=lessons/web/practise packages
  packages=build/book/practise_packages/$({ sha256sum "$source/package-lock.json" 2>/dev/null || shasum -a 256 "$source/package-lock.json"; } | cut -c1-16)
  if [ ! -f "$packages/installed" ]; then
    mkdir -p "$packages"
    cp "$source/package.json" "$source/package-lock.json" "$packages" || return 1
    (cd "$packages" && npm ci --ignore-scripts --no-audit --no-fund >install.log 2>&1 && touch installed) || {
      say "npm could not install the packages of $source (log: $packages/install.log)" >&2
      return 1
    }
  fi
  say "$packages"
}

# show_steps: prints ninja's lines as they arrive (awk might buffer them). On a terminal, all steps share one line.
show_steps() {
  local line open="" wide
  look_at_width
  while IFS= read -r line; do
    case $line in
      "ninja: no work to do"* | "ninja: Entering directory"* | "-- "* | "["*"s] Re-"*) ;;
      "["*"s] "*)
        line=${line/CMakeFiles\/*.dir\//}
        if [ -t 1 ]; then
          printf '\r\033[K%s' "${line:0:${wide:-100}}"
          open=1
        else
          printf '%s\n' "$line"
        fi
        ;;
      *)
        printf '%s%s\n' "${open:+$'\n'}" "$line"
        open=""
        ;;
    esac
  done
  [ -z "$open" ] || printf '\r\033[K'
}

# build folder target…: builds the targets, and prints nothing if they are up to date.
build() {
  local folder=$1
  shift
  NINJA_STATUS='[%f/%t %es] ' ninja -C "$folder" -j "$cores" "$@" 2>&1 9>&- | show_steps
  return "${PIPESTATUS[0]}"
}

# ready folder target…: configures a Release build for the lessons and tests, and builds the targets.
ready() {
  local folder=$1 options=()
  shift
  # shellcheck disable=SC2206
  options=(${TAPESTRY_OPTIONS:-} ${extra_options:-})
  configure release "$folder" "${options[@]}"
  build "$folder" "$@" || die "the build failed (see above)"
}

# Checks that take long for each lesson run for a fifth of the lessons, and for another fifth the next day.
# lessons_of_today 1: today's fifth as a regular expression; lessons_of_today 0: the other lessons.
lessons_of_today() {
  local path
  for path in lessons/[0-9][0-9]_*/; do basename "$path"; done |
    awk -v day="$(($(date +%s) / 86400))" -v today="$1" '(NR % 5 == day % 5) == today' | paste -sd '|' -
}
