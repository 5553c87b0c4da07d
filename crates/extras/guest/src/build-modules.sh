# Builds kernel modules against the headers of Debian's stock kernel; nothing is installed.
#
#     sh -c "$(cat build-modules.sh)" build RELEASE HEADERS SOURCE FOLDER ENDING NAME...
#
# RELEASE  as `uname -r` says it: 6.1.0-56-amd64
# HEADERS  unpacked linux-headers-RELEASE with all that it needs
# SOURCE   the kernel's source as an archive, or, for zfs, the unpacked package zfs-dkms
# FOLDER   where modules are kept, as NAME with ENDING
set -eu
release=$1 headers=$2 source=$3 folder=$4 ending=$5
shift 5

fail() {
    echo "$1" >&2
    exit 1
}

for need in gcc:gcc ld:binutils make:make tar:tar xz:xz-utils; do
    command -v "${need%:*}" > /dev/null || fail "${need%:*} not found; install ${need#*:}"
done
own=$headers/usr/src/linux-headers-$release
shared=$headers/usr/src/linux-headers-${release%-*}-common
[ -f "$own/Makefile" ] && [ -f "$shared/Makefile" ] || fail "$headers has no usr/src/linux-headers-$release"
# It names the other folder by the path of an installation.
echo "include $shared/Makefile" > "$own/Makefile"
mkdir -p "$folder"
exec 9> "$folder/lock"
flock 9

keep() { # NAME FILE
    strip --strip-debug "$2"
    mv "$2" "$folder/$1$ending"
}

# A basic regular expression that must stand in one line (or, with `-le`, in some), and what stands there afterwards.
change() { # FILE BEFORE AFTER [-le]
    found=$(grep -c -e "$2" "$build/$1") || true
    [ 1 "${4:--eq}" "$found" ] || fail "$1 of this kernel has \`$2\` $found times; the change was made for another version"
    sed -i -e "s/$2/$3/" "$build/$1"
}

of_kernel() { # PATH WORD...
    from=$1
    shift
    mkdir -p "$build"
    tar -x -f "$source" -C "$build" --strip-components=3 --no-same-owner --wildcards "*/$from/*"
    "change_$name"
    make -C "$own" -j2 CC=gcc "M=$build" "$@" modules
    keep "$name" "$build/$name.ko"
}

change_ufs() { :; }

# The check of a leaf multiplies the number of directory entries by the size of an item's head (24 bytes) where that
# of an entry's head (16) is meant. The root directory of a new volume of format 3.5 holds two names in 35 bytes, less
# than 48, and is refused; format 3.6 pads its names. The type gets a name of its own, so that it loads beside the stock one.
change_reiserfs35() {
    change stree.c 'ih_entry_count(ih) \* IH_SIZE' 'ih_entry_count(ih) * DEH_SIZE'
    change super.c '\.name = "reiserfs",' '.name = "reiserfs35",'
    change super.c 'MODULE_ALIAS_FS("reiserfs")' 'MODULE_ALIAS_FS("reiserfs35")'
    change Makefile '+= reiserfs\.o' '+= reiserfs35.o'
    change Makefile 'reiserfs-objs' 'reiserfs35-objs' -le
}

# Its own configure asks the headers some two hundred questions by small builds; dkms is not needed. Nine modules,
# of which zfs needs all others and is kept last. Source: openzfs.github.io, Building ZFS; dkms.conf of the package.
of_openzfs() {
    set -- "$source"/usr/src/*/configure
    cp -r "${1%/configure}" "$build"
    cd "$build"
    ./configure --disable-dependency-tracking --with-config=kernel "--with-linux=$shared" "--with-linux-obj=$own" \
        KERNEL_CC=gcc
    make "-j$(nproc)"
    for file in $(find module -name '*.ko' ! -name zfs.ko) module/zfs/zfs.ko; do
        keep "$(basename "$file" .ko)" "$file"
    done
}

for name; do
    [ -f "$folder/$name$ending" ] && continue
    build=$folder/build-$name
    rm -rf "$build"
    case $name in
    # Debian's reads only. No code is changed.
    ufs) of_kernel fs/ufs CONFIG_UFS_FS=m KCFLAGS=-DCONFIG_UFS_FS_WRITE=1 ;;
    reiserfs35) of_kernel fs/reiserfs CONFIG_REISERFS_FS=m ;;
    zfs) of_openzfs ;;
    esac
    rm -rf "$build"
done
