# A host with a name, an address, a home and an sshd: `host.sh NAME FOLDER`.
set -e
cd "$2"
hostname "$1"
until ip link show cable >/dev/null 2>&1; do sleep 0.02; done
ip link set lo up
ip address add "10.99.0.${1#h}/24" dev cable
ip link set cable up
mkdir -p "$1"
mount --bind "$1" /root
mount -t tmpfs tmpfs /run
mkdir -p /run/sshd
bash planted.sh "$1"
touch "$1/up"
exec "$(PATH="$PATH:/usr/sbin" command -v sshd)" -D -e -f /dev/null -h "$2/host-key" -o PidFile=none -o UsePAM=no \
    -o AuthorizedKeysFile="$2/key.pub" -o StrictModes=no -o PermitRootLogin=yes -o UseDNS=no \
    -o 'Subsystem sftp internal-sftp' -o SetEnv=PICKFS_STATE_DIR=/root/state 2>>"$2/$1/sshd.log"
