# MooseFS: a master and one chunkserver, which keeps its chunks in memory.
state=/run/mfs
mkdir -p $state/master $state/server $state/chunks
printf 'MFSM NEW' >$state/master/metadata.mfs
echo '* / rw,alldirs,admin,maproot=0:0' >$state/exports
: >$state/topology
echo $state/chunks >$state/disks
printf '%s\n' 'WORKING_USER = root' 'WORKING_GROUP = root' 'NICE_LEVEL = 0' >$state/both
printf '%s\n' "DATA_PATH = $state/master" "EXPORTS_FILENAME = $state/exports" "TOPOLOGY_FILENAME = $state/topology" |
    cat $state/both - >$state/master.cfg
printf '%s\n' "DATA_PATH = $state/server" "HDD_CONF_FILENAME = $state/disks" 'HDD_LEAVE_SPACE_DEFAULT = 64MiB' \
    'MASTER_HOST = 10.99.0.9' 'MASTER_RECONNECTION_DELAY = 1' | cat $state/both - >$state/server.cfg

# What one that was killed has not put into its metadata stands in its logs alone.
mfsmaster() { exec mfsmaster $([ -e $state/master/metadata.mfs ] || echo -a) -f -c $state/master.cfg start; }
serve mfsmaster
until (: </dev/tcp/10.99.0.9/9421) 2>/dev/null; do sleep 0.1; done
serve mfschunkserver -f -c $state/server.cfg start
echo "mfsmount $PWD/far -H 10.99.0.9 -o mfsnice=0" >mount-far
