# A lab with a switch, and hosts, each behind a cable to it: `network.sh FOLDER HOST...`, which are h1 to h9. Nothing of it is
# seen outside, and all of it ends with its first process.
set -e
cd "$1"
shift
hostname lab
mount -t tmpfs tmpfs /run
for key in key host-key; do ssh-keygen -q -t ed25519 -N '' -f $key; done
{ echo '127.0.0.1 localhost'; echo '10.99.0.100 lab'; for i in {1..9}; do echo "10.99.0.$i h$i"; done; } >names
mount --bind names /etc/hosts
ip link set lo up
ip link add switch type bridge
ip address add 10.99.0.100/24 dev switch
ip link set switch up
bash planted.sh lab
for host in "$@"; do
    # UCX, below MPICH, takes those that share memory (ipc) for one host, and misses their processes.
    unshare --net --uts --ipc --mount --pid --fork --kill-child --mount-proc sh "$PWD/host.sh" "$host" "$PWD" &
    pid=$!
    until [ "$(readlink /proc/$pid/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
    ip link add "to-$host" type veth peer name cable netns $pid
    ip link set "to-$host" master switch up
done
touch cabled
wait
