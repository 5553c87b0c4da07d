# shellcheck shell=bash
# What ./run and ./test share: finding what is missing, asking, installing, and the Rust toolchain.
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
home_of() { getent passwd "$1" | cut -d: -f6; }

# The user whose checkout this is when we came by sudo: cargo runs as that user, with that user's
# toolchain, so that the target folder does not end up owned by root. Empty when cargo runs as we do.
# Sets $builder and $home, and looks into the home's cargo before PATH: a distribution's may be older.
choose_builder() {
    builder='' home=${HOME:-$(home_of "$(id -un)")}
    if is_root && [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ] && has runuser &&
        runuser -u "$SUDO_USER" -- test -w "$root"; then
        builder=$SUDO_USER home=$(home_of "$SUDO_USER")
        export CARGO_HOME="$home/.cargo" RUSTUP_HOME="$home/.rustup"
    fi
    prefer_own_cargo
}

prefer_own_cargo() {
    if [ -x "$home/.cargo/bin/cargo" ]; then export PATH="$home/.cargo/bin:$PATH"; fi
    hash -r
}

# Runs a command as the builder.
as_builder() {
    if [ -n "$builder" ]; then runuser -u "$builder" -- env HOME="$home" "$@"; else "$@"; fi
}

# Sets $family (a column of scripts/packages), $by_hand (what a person types) and $unattended.
choose_family() {
    local ID='' ID_LIKE='' file=${PICKFS_OS_RELEASE:-/etc/os-release}
    # shellcheck disable=SC1090
    [ ! -r "$file" ] || . "$file"
    family='' by_hand=() unattended=()
    case " $ID $ID_LIKE " in
        *' debian '* | *' ubuntu '*)
            family=debian by_hand=(apt-get install --no-install-recommends)
            unattended=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends)
            ;;
        *' fedora '* | *' rhel '* | *' centos '*)
            family=fedora by_hand=(dnf install) unattended=(dnf install -y --setopt=install_weak_deps=False)
            ;;
        *' suse '* | *' opensuse '*)
            family=suse by_hand=(zypper install)
            unattended=(zypper --non-interactive install --no-recommends)
            ;;
        *' arch '*) family=arch by_hand=(pacman -S) unattended=(pacman -S --noconfirm --needed) ;;
        *' alpine '*) family=alpine by_hand=(apk add) unattended=(apk add) ;;
    esac
    if [ -n "$family" ] && ! has "${by_hand[0]}"; then family='' by_hand=() unattended=(); fi
}

# Rows of scripts/packages for the jobs named whose program is not installed: program, package, purpose.
missing_rows() {
    local jobs=$1 program debian fedora suse arch alpine row_jobs purpose package
    while read -r program debian fedora suse arch alpine row_jobs purpose; do
        case $program in '' | '#'*) continue ;; esac
        shares_a_word "$jobs" "$row_jobs" || continue
        is_there "$program" && continue
        package=$debian
        case $family in fedora | suse | arch | alpine) package=${!family} ;; esac
        printf '%s %s %s\n' "$program" "$package" "$purpose"
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

is_there() {
    case $1 in
        /*) [ -e "$1" ] ;;
        cargo | rustc) rust_is_enough ;;
        # A toolchain of rustup has its own components.
        cargo-*) has "$1" || has rustup ;;
        *) has "$1" ;;
    esac
}

# Brings what the jobs need, as far as it may: says what is missing, asks, installs.
# Never fails: the caller checks for what it cannot do without.
bring_packages() {
    local rows packages
    rows=$(missing_rows "$1")
    [ -n "$rows" ] || return 0
    packages=$(awk '$2 != "-" { print $2 }' <<<"$rows" | sort -u | tr '\n' ' ')
    packages=${packages% }
    say "Not installed here:"
    awk '{ what = $0; sub(/^[^ ]+ [^ ]+ /, "", what)
           printf "  %-11s (package %-15s  %s\n", $1, $2 ")", what }' <<<"$rows" >&2
    if [ -z "$family" ]; then
        say "No package manager that ./run knows is here (the packages named are Debian's): please install these programs."
    elif [ -z "$packages" ]; then
        return 0
    elif ! is_root; then
        say "To install them:  sudo ${by_hand[*]} $packages"
    elif may "Install them now with ${by_hand[0]}?"; then
        # shellcheck disable=SC2086 # one word per package
        install_packages $packages
    else
        say "Going on without. To install them:  ${by_hand[*]} $packages"
    fi
}

# Asks a question, unless the answer is known: --yes, --no-install, or nobody to ask.
may() {
    local answer
    case $consent in
        yes) return 0 ;;
        never) return 1 ;;
    esac
    [ -t 0 ] && [ -t 2 ] || return 1
    printf '%s [Y/n] ' "$1" >&2
    read -r answer || return 1
    case $answer in '' | [Yy]*) return 0 ;; *) return 1 ;; esac
}

# Installs packages in one call; where that fails one by one, so that one that cannot be had does not stop the
# others. Why it cannot be had is for the package manager to say.
install_packages() {
    local package unit log wanted=() absent=()
    log=$(mktemp)
    for unit in "${served[@]}"; do
        # Of ssh a newer package may bring another unit that listens: who has one of them keeps them all.
        case $unit in ssh*) ! has_unit ssh.socket && ! has_unit ssh.service && ! has_unit sshd.service || continue ;; esac
        has_unit "$unit" || absent+=("$unit")
    done
    if [ "$family" = debian ]; then
        say "apt-get update"
        apt-get update -q </dev/null >"$log" 2>&1 || say "apt-get update failed: $(tail -n 3 "$log")"
    fi
    for package in "$@"; do
        case $package in cargo | rustc | rustfmt | rust-clippy) distribution_is_enough || continue ;; esac
        wanted+=("$package")
    done
    if [ ${#wanted[@]} -gt 0 ]; then
        say "${by_hand[*]} ${wanted[*]}"
        if ! "${unattended[@]}" "${wanted[@]}" </dev/null >"$log" 2>&1; then
            say "Not all of them can be had: one after the other."
            for package in "${wanted[@]}"; do
                "${unattended[@]}" "$package" </dev/null >"$log" 2>&1 ||
                    say "Without $package; ${by_hand[0]} says: $(tail -n 3 "$log")"
            done
        fi
    fi
    rm -f "$log"
    hash -r
    silence "${absent[@]}"
}

# Servers that tests start themselves, in namespaces. One that came for them runs nowhere else, now and after a boot; one
# that was here before is somebody's, by whatever it came, and stays as it is.
served=(ssh.socket ssh.service sshd.service ceph.target ceph-crash.service moosefs-master.service moosefs-chunkserver.service)

has_unit() { case $(systemctl is-enabled "$1" 2>/dev/null) in '' | not-found) return 1 ;; esac }

silence() {
    local unit
    for unit in "$@"; do
        if has_unit "$unit"; then systemctl disable --now "$unit" >/dev/null 2>&1 || true; fi
    done
}

# Whether the distribution's own Rust would be new enough. Only apt can be asked before; elsewhere what came is asked.
distribution_is_enough() {
    local policy version
    [ "$family" = debian ] || return 0
    policy=$(apt-cache policy rustc 2>/dev/null) || return 1
    version=$(awk '$1 == "Candidate:" { print $2 }' <<<"$policy")
    at_least "$version" "$(rust_needed)"
}

rust_needed() { sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml"; }
rust_found() { as_builder rustc --version 2>/dev/null | awk '{ print $2 }'; }
rust_is_enough() { has cargo && at_least "$(rust_found)" "$(rust_needed)"; }

# True when version $1 is $2 or later.
at_least() {
    [ -n "$1" ] && [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | awk 'NR == 1')" = "$2" ]
}

# Sets $cargo, or offers rustup, or stops and says where a toolchain comes from.
find_cargo() {
    local found why
    if ! rust_is_enough; then
        found=$(rust_found) || true
        why="no Rust toolchain found (looked in PATH and $home/.cargo/bin); $(rust_needed) or later is needed."
        if [ -n "$found" ]; then why="Rust $found is too old: $(rust_needed) or later is needed."; fi
        say "$why"
        may "Fetch one with rustup (https://rustup.rs) now?" || stop "$why
  '$self --yes' fetches one with rustup (https://rustup.rs) for ${builder:-$(id -un)}; or get one by hand:
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs -o rustup.sh && sh rustup.sh"
        fetch_toolchain
        rust_is_enough || stop "rustup has brought no Rust of $(rust_needed) or later (see above)"
    fi
    cargo=$(command -v cargo)
}

# By the rustup that is here, else by the distribution's package, else by its installer.
fetch_toolchain() {
    local file
    if ! has rustup && is_root && [ -n "$family" ]; then
        say "${by_hand[*]} rustup"
        "${unattended[@]}" rustup </dev/null >/dev/null 2>&1 || say "no package rustup: by its installer"
        hash -r
    fi
    if has rustup; then
        export RUSTUP_TOOLCHAIN=stable
        as_builder rustup toolchain install stable --profile minimal --component rustfmt --component clippy >&2 ||
            stop "rustup has failed (see above)"
        return
    fi
    if ! has curl && is_root && [ -n "$family" ]; then install_packages curl ca-certificates; fi
    has curl || stop "curl not found, which fetches the installer of rustup; install the package curl"
    file=$(mktemp)
    chmod 644 "$file"
    if ! curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs -o "$file" ||
        ! as_builder sh "$file" -y --profile minimal --component rustfmt --component clippy >&2; then
        rm -f "$file"
        stop "the installer of rustup has failed (see above)"
    fi
    rm -f "$file"
    prefer_own_cargo
}

need_c_compiler() {
    has cc || stop "no C compiler (cc): SQLite, which is part of pickfs, cannot be compiled without.
  On Debian and Ubuntu:  sudo apt-get install --no-install-recommends build-essential"
}

choose_builder
choose_family
