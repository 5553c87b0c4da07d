# NFS 4.2 as the kernel serves it, which it does for each network apart; what its programs note of it stays in memory.
mount -t tmpfs tmpfs /var/lib/nfs
mkdir -p /var/lib/nfs/rpc_pipefs /var/lib/nfs/nfsdcld served
mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
mount -t nfsd nfsd /proc/fs/nfsd
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
serve nfsdcld -F
serve rpc.mountd -F -N 3
exportfs -i -o rw,fsid=0,no_root_squash,no_subtree_check,insecure "*:$PWD/served"
# Ten seconds are the least that it takes, and for so long it waits after a stop for those that were there.
echo "PATH=\$PATH:/usr/sbin; rpc.nfsd -N 3 -G 10 -L 10 8" >begin-to-serve
sh begin-to-serve
echo "mount -t nfs4 -o vers=4.2 10.99.0.9:/ $PWD/far" >mount-far
