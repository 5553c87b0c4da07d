# Ceph without keys: one monitor, one store in memory, one metadata server.
state=/run/ceph
mkdir -p $state/mon $state/mgr $state/osd $state/mds
cluster=$(cat /proc/sys/kernel/random/uuid)
store=$(cat /proc/sys/kernel/random/uuid)
export CEPH_CONF=$PWD/ceph.conf
cat >ceph.conf <<C
[global]
fsid = $cluster
mon host = v2:10.99.0.9:3300
auth cluster required = none
auth service required = none
auth client required = none
mon allow pool size one = true
mon cluster log to file = false
osd pool default size = 1
osd pool default min size = 1
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 2147483648
osd memory target = 939524096
log file =
admin socket =
crash dir = $state
[mon.a]
mon data = $state/mon
public addr = 10.99.0.9
[mgr.a]
mgr data = $state/mgr
[osd]
osd data = $state/osd
osd journal = $state/osd/journal
[mds.a]
mds data = $state/mds
C
ceph() { timeout 60 ceph "$@"; }
monmaptool --create --fsid "$cluster" --addv a '[v2:10.99.0.9:3300]' $state/monmap
ceph-mon --mkfs -i a --monmap $state/monmap
serve ceph-mon -f -i a
serve ceph-mgr -f -i a
ceph osd new "$store"
ceph-osd --mkfs -i 0 --osd-uuid "$store"
ceph osd crush add 0 1.0 root=default host=h9
serve ceph-osd -f -i 0
for pool in meta data; do ceph osd pool create $pool 8; done
ceph fs new fs meta data
serve ceph-mds -f -i a
until ceph mds stat | grep -q active; do sleep 0.2; done
echo "ceph-fuse -c $PWD/ceph.conf $PWD/far" >mount-far
