# One folder that all share, one that h3 has of its own, and one to mount at.
set -e
case $1 in
    lab)
        mkdir one apart far tmp
        for place in one apart /dev/shm; do mount -t tmpfs tmpfs $place; done
        ;;
    *)
        # Where libraries of MPI look for the network of their host.
        mount -t sysfs sysfs /sys
        [ "$1" != h3 ] || mount -t tmpfs tmpfs apart
        ;;
esac
