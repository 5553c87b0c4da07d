# shellcheck shell=bash
# What ./run and ./test share: finding what is missing, asking, installing, building.
# Sourced, never run. The caller sets $root (the checkout), and $consent to ask, yes or never.
: "${self:?}" "${root:?}" "${consent:?}"

# Where Debian keeps mkfs and losetup; not in an ordinary user's PATH.
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

say() { printf '%s\n' "$*" >&2; }
stop() {
    say "$self: $*"
    exit 2
}
is_root() { [ "$(id -u)" -eq 0 ]; }
has() { command -v "$1" >/dev/null 2>&1; }

# Rows of scripts/packages for the jobs named, whose program is not installed.
missing_rows() {
    local jobs=$1 program package row_jobs purpose
    while read -r program package row_jobs purpose; do
        case $program in '' | '#'*) continue ;; esac
        shares_a_word "$jobs" "$row_jobs" || continue
        has "$program" || printf '%s %s %s\n' "$program" "$package" "$purpose"
    done <"$root/scripts/packages"
}

# True when two comma-separated lists have a word in common.
shares_a_word() {
    local word
    for word in ${1//,/ }; do
        case ",$2," in *",$word,"*) return 0 ;; esac
    done
    return 1
}

print_missing() {
    local program package purpose
    while read -r program package purpose; do
        printf '  %-11s (package %-15s  %s\n' "$program" "$package)" "$purpose" >&2
    done <<<"$1"
}

# Brings what the jobs need, as far as it may: says what is missing, asks, installs.
# Never fails: the caller checks for what it cannot do without.
bring_packages() {
    local rows packages
    rows=$(missing_rows "$1")
    [ -n "$rows" ] || return 0
    packages=$(awk '{ print $2 }' <<<"$rows" | sort -u | tr '\n' ' ')
    packages=${packages% }
    say "Not installed here:"
    print_missing "$rows"
    if ! has apt-get; then
        say "This is not Debian or Ubuntu: please install these programs with your own package manager."
    elif ! is_root; then
        say "To install them:  sudo apt-get install --no-install-recommends $packages"
    elif may_install; then
        # shellcheck disable=SC2086 # one word per package
        apt_install $packages
    else
        say "Going on without. To install them:  apt-get install --no-install-recommends $packages"
    fi
}

may_install() {
    local answer
    case $consent in
        yes) return 0 ;;
        never) return 1 ;;
    esac
    [ -t 0 ] && [ -t 2 ] || return 1
    printf 'Install them now with apt-get? [Y/n] ' >&2
    read -r answer || return 1
    case $answer in '' | [Yy]*) return 0 ;; *) return 1 ;; esac
}

# Installs those packages that this release has; one that it lacks does not stop the others.
apt_install() {
    local package known=() log
    log=$(mktemp)
    say "apt-get update"
    apt-get update -q >"$log" 2>&1 || say "apt-get update failed: $(tail -n 1 "$log")"
    for package in "$@"; do
        if has_candidate "$package"; then
            known+=("$package")
        else
            say "This release has no package $package: going on without it."
        fi
    done
    if [ ${#known[@]} -gt 0 ]; then
        say "apt-get install --no-install-recommends ${known[*]}"
        if ! DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
            "${known[@]}" </dev/null >"$log" 2>&1; then
            tail -n 5 "$log" >&2
            say "apt-get install failed: going on with what is there."
        fi
    fi
    rm -f "$log"
    hash -r
}

has_candidate() {
    apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [^(]'
}

# The user whose checkout this is when we came by sudo: cargo runs as that user, with that user's
# toolchain, so that the target folder does not end up owned by root. Empty when cargo runs as we do.
builder=
choose_builder() {
    is_root || return 0
    [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ] && has runuser || return 0
    if runuser -u "$SUDO_USER" -- test -w "$root"; then
        builder=$SUDO_USER
    fi
}

# Runs a command as the builder.
as_builder() {
    if [ -n "$builder" ]; then
        runuser -u "$builder" -- env HOME="$(home_of "$builder")" "$@"
    else
        "$@"
    fi
}

home_of() { getent passwd "$1" | cut -d: -f6; }

# Sets $cargo, or stops and says where one comes from.
find_cargo() {
    local home=${HOME:-$(home_of "$(id -un)")}
    choose_builder
    if [ -n "$builder" ]; then
        home=$(home_of "$builder")
        export CARGO_HOME="$home/.cargo" RUSTUP_HOME="$home/.rustup"
    fi
    # Before PATH: a distribution's cargo may be older than the one from rustup.
    if [ -x "$home/.cargo/bin/cargo" ]; then
        export PATH="$home/.cargo/bin:$PATH"
    fi
    cargo=$(command -v cargo) || stop "no Rust toolchain found (looked in PATH and $home/.cargo/bin).
  Get one from https://rustup.rs:
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh
  then start $self again."
    check_rust_version
}

check_rust_version() {
    local needed found
    needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml")
    found=$(as_builder rustc --version 2>/dev/null | awk '{ print $2 }')
    [ -n "$found" ] || stop "cargo is at $cargo, but rustc does not answer; 'rustup default stable' helps"
    at_least "$found" "$needed" || stop "Rust $found is too old: $needed or later is needed.
  'rustup update stable' brings it; Debian's own rustc package may be older than that."
}

# True when version $1 is $2 or later.
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

need_c_compiler() {
    has cc || stop "no C compiler (cc): SQLite, which is part of pickfs, cannot be compiled without.
  On Debian and Ubuntu:  sudo apt-get install --no-install-recommends build-essential"
}
