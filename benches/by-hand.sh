# What `pickfs exec` and `pickfs run --fio` measure beside the tool itself, on the same mount, in turns.
# Sourced by against-hyperfine and against-fio-by-hand, which set $tool and measure_tool, and say what is compared.
#
# A round holds one turn of the worker and one of the tool, in an order that changes; each in a directory of its
# own that is removed before the next. Ratios are taken within a round; their interval is that of the sign test.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
export PATH="$PATH:/usr/sbin:/sbin"
rounds=12 mounts="tmpfs ext4" folder=/var/tmp

stop() {
    printf '%s: %s\n' "$self" "$*" >&2
    exit 2
}

read_words() {
    while [ $# -gt 0 ]; do
        case $1 in
            --rounds) rounds=${2:?} ;;
            --mounts) mounts=${2:?} ;;
            --on) folder=${2:?} ;;
            *) stop "unknown word '$1'; the words are --rounds, --mounts, --on" ;;
        esac
        shift 2
    done
}

check_machine() {
    local program
    [ "$(id -u)" -eq 0 ] || stop "mounting needs root: sudo $self"
    for program in "$tool" jq losetup unshare mkfs.ext4; do
        command -v "$program" >/dev/null || stop "$program not found; apt-get install $tool jq util-linux mount e2fsprogs"
    done
}

build() {
    target=${CARGO_TARGET_DIR:-$root/target}
    if [ -z "${PICKFS_BENCH_PROGRAM:-}" ]; then
        cargo build --quiet --manifest-path "$root/Cargo.toml" --target-dir "$target" --release --locked \
            -p pickfs-cli
    fi
    pickfs=${PICKFS_BENCH_PROGRAM:-$target/release/pickfs}
}

# Mounts a file system at $scratch/mnt/NAME; the loop device goes with its mount.
make_mount() {
    local name=$1 point=$scratch/mnt/$1 image=$scratch/$1.image device
    mkdir -p "$point"
    if [ "$name" = tmpfs ]; then
        mount -t tmpfs -o size=512m tmpfs "$point"
        return
    fi
    dd if=/dev/zero of="$image" bs=1M count=512 conv=fsync status=none
    device=$(losetup --find --show --direct-io=on "$image")
    case $name in
        ext4) mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$device" ;;
        xfs) mkfs.xfs -q -f -K "$device" ;;
        *) stop "no file system '$name'; there are tmpfs, ext4 and xfs" ;;
    esac
    mount -t "$name" -o noatime "$device" "$point"
    losetup --detach "$device"
    rm "$image"
}

# The worker's answers to a workload and its parameters in a directory, as JSON lines.
worker_answers() {
    { jq -nc --arg dir "$1" --arg name "$2" --argjson params "$3" '{
        format: 1, build: "", directory: $dir, role: "appender", lane: 0, seed: 7, warmup_ns: 0, warmup_bytes: 0,
        measure_ns: 0, cpu: null, helper_cpu: null, spikes_max: 0, drop_caches: false,
        workload: {name: $name, version: 1, params: $params}}' && echo go; } | "$pickfs" worker |
        jq -cs '(map(select(.event == "failed" or .event == "skipped")) | first) as $bad
                | if $bad then error("worker: \($bad.reason)") else .[] end'
}

# Prints `mount round program measure value` for each measure that a turn prints as `measure value`.
take_turn() {
    local mount=$1 round=$2 program=$3 dir=$scratch/mnt/$1/turn
    mkdir "$dir"
    sync -f "$dir"
    "measure_$program" "$dir" | sed "s/^/$mount $round $program /" | tee -a "$scratch/results"
    rm -rf "$dir"
}

take_rounds() {
    local round mount program
    for round in $(seq "$rounds"); do
        for mount in $mounts; do
            for program in $([ $((round % 2)) -eq 0 ] && echo pickfs tool || echo tool pickfs); do
                take_turn "$mount" "$round" "$program"
            done
        done
    done
}

compare() {
    read_words "$@"
    check_machine
    if [ "${PICKFS_BENCH_PRIVATE:-}" != yes ]; then
        PICKFS_BENCH_PRIVATE=yes exec unshare --mount --propagation private "$0" "$@"
    fi
    scratch=$(mktemp -d "$folder/pickfs-bench.XXXXXX")
    trap 'umount "$scratch"/mnt/* 2>/dev/null; rm -f "$scratch"/*.image "$scratch/results"; rmdir "$scratch"/mnt/* "$scratch/mnt" "$scratch"' EXIT
    build
    local each
    for each in $mounts; do make_mount "$each"; done
    printf '%s, %s processors; %s rounds on %s\n\n' "$(uname -sr)" "$(nproc)" "$rounds" "$mounts"
    take_rounds
    printf '\n'
    awk -f "$here/by-hand.awk" "$scratch/results"
}
