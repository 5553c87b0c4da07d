# The server of a shared file system stands on h9, which has no rank.
[ "$1" = h9 ] || exit 0
PATH=$PATH:/usr/sbin
exec 3>&2 >server.log 2>&1
trap 'tail -n 20 server.log >&3' ERR

# As a service manager does: what has ended is started again two seconds later.
serve() {
    while :; do
        "$@" &
        echo $! >"$1.pid"
        wait $! || :
        sleep 2
    done &
}
