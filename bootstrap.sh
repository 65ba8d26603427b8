#!/bin/sh
# Installs the Debian packages that building, testing and running labgen need.
# This is the only place that names them. Does nothing when all are there;
# without root (or sudo that asks no password) it prints the command to run.
set -eu

packages=$(sed 's/ *#.*//' <<'END'
make                     # runs the build
gcc                      # compiles labgen
libc6-dev                # its C library's headers
pkg-config               # finds the libraries below
libgit2-dev              # repositories: per-student trees, merges, diffs
libyaml-dev              # lab files, with line and column in each error
libsodium-dev            # seeds: keyed hashes and streams drawn from them
libarchive-dev           # intake of zip and tar submissions
nettle-dev               # SHA-1 of the packs in repositories
zlib1g-dev               # and their compression
libjansson-dev           # JSON results
gcc-riscv64-unknown-elf  # compiles the kernels
qemu-system-misc         # boots them (qemu-system-riscv64)
gdb-multiarch            # the report about a hung kernel
bubblewrap               # the sandbox round compilers and QEMU
libdw-dev                # names and lines in what labgen explore shows
git                      # what the tests compare our repositories with
libcriterion-dev         # the tests' framework
clang                    # fuzz targets, and what clang-tidy reads with
clang-tidy               # make lint
clang-format             # make lint
cppcheck                 # make lint
patch                    # kernels with faults, which the tests make
shellcheck               # make lint
python3                  # gdb's own scripts, and the tools of make lint
END
)

if ! command -v dpkg-query >/dev/null; then
  echo "bootstrap.sh: this is no Debian; install what these packages hold:" >&2
  echo "$packages" >&2
  exit 0
fi

# shellcheck disable=SC2086  # a list of words
there=$(dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' $packages \
  2>/dev/null | sed -n 's/^\([^: ]*\).* installed$/\1/p') || true
missing=
for package in $packages; do
  case "
$there
" in
  *"
$package
"*) ;;
  *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

install="apt-get install -y --no-install-recommends$missing"
as_root=
if [ "$(id -u)" != 0 ]; then
  if sudo -n true 2>/dev/null; then
    as_root="sudo -n"
  else
    echo "bootstrap.sh: packages are missing; run this, then try again:" >&2
    echo "  sudo apt-get update && sudo $install" >&2
    exit 1
  fi
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update </dev/null
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive $install </dev/null
