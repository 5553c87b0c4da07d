# Three hosts on one machine: networks, host names and mounts of their own, each with an sshd. Nothing of it is seen outside,
# and all of it goes with this process.
set -e
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /dev/shm
mkdir -p /run/netns /run/sshd /run/bed/one /run/bed/apart /run/bed/far /run/bed/tmp
cd /run/bed
hostname lab
ip link set lo up
ip link add bridge type bridge
ip addr add 10.213.99.254/24 dev bridge
ip link set bridge up
for key in user host; do ssh-keygen -q -t ed25519 -N '' -f $key; done
{ echo '127.0.0.1 localhost'; echo '10.213.99.254 lab'; for i in 1 2 3; do echo "10.213.99.$i h$i"; done; } >hosts
mount --bind hosts /etc/hosts
printf '%s\n' 'HostKey /run/bed/host' 'AuthorizedKeysFile /run/bed/user.pub' 'StrictModes no' 'UsePAM no' \
    'PermitRootLogin yes' 'PidFile none' 'Subsystem sftp internal-sftp' >sshd_config
printf '%s\n' 'StrictHostKeyChecking no' 'UserKnownHostsFile /dev/null' 'LogLevel ERROR' 'IdentityFile /run/bed/user' \
    'ConnectTimeout 10' >ssh_config
printf '%s\n' '#!/bin/sh' 'exec ssh -F /run/bed/ssh_config "$@"' >rsh
# Whoever is a rank, or a worker of one, on a host: `signal NAME HOST SIGNAL`.
cat >signal <<'S'
#!/bin/sh
for process in /proc/[0-9]*; do
    [ "$(cat $process/comm 2>/dev/null)" = "$1" ] || continue
    [ "$(nsenter -t ${process#/proc/} -u hostname)" = "$2" ] && kill -$3 ${process#/proc/} && echo $3
done
S
# What has ended and waits for its parent runs no more.
cat >left <<'S'
#!/bin/sh
for process in /proc/[0-9]*; do
    grep -q '^State:.Z' $process/status 2>/dev/null && continue
    grep -E '^(pickfs|mpi|orted|hydra|prted)' $process/comm 2>/dev/null
done
true
S
chmod +x rsh signal left
for i in 1 2 3; do
    ip netns add h$i
    ip link add v$i type veth peer name eth0 netns h$i
    ip link set v$i master bridge up
    ip -n h$i addr add 10.213.99.$i/24 dev eth0
    ip -n h$i link set eth0 up
    ip -n h$i link set lo up
    ip netns exec h$i unshare -m -u sh -c "hostname h$i
        [ $i != 3 ] || mount -t tmpfs tmpfs /run/bed/apart
        exec $(command -v sshd) -D -f /run/bed/sshd_config" &
    sshds="$sshds $!"
done
for i in 1 2 3; do
    until ./rsh h$i true; do kill -0 $sshds; sleep 0.1; done
done
echo ready
exec sleep 3600
