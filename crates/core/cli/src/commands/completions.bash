
# The words that depend on the machine or on the version: plans (also in place of a verb), file systems, runs.
_pickfs_names() {
    local plans='@PLANS@' cur=$2 prev=$3 names verb before
    if [ "$COMP_CWORD" -gt 1 ] && [[ " $plans " == *" ${COMP_WORDS[1]} "* ]]; then
        local -a COMP_WORDS=("$1" run "${COMP_WORDS[@]:1}")
        local COMP_CWORD=$((COMP_CWORD + 1))
    fi
    _pickfs "$@"
    verb=${COMP_WORDS[1]}
    [ "$COMP_CWORD" -gt 1 ] || verb=
    case $prev in
        --fs)
            before=${cur%"${cur##*,}"}
            mapfile -t COMPREPLY < <(compgen -P "$before" -W '@FILE_SYSTEMS@' -- "${cur##*,}")
            return
            ;;
        --resume | --again) verb=show ;;
        --ram | --erase | --json | --steps | --until-decided | --allow-*) ;;
        -*) return ;;
    esac
    [[ $cur != -* ]] || return 0
    case $verb in
        '' | run | plan) names=$plans ;;
        show | report | compare | explain | choose) names=$(compgen -G 'pickfs-runs/*/' | sort) ;;
        *) return ;;
    esac
    # What else the script knows there is options and names of places, such as <RUN>.
    [ -z "$verb" ] || COMPREPLY=()
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$names" -- "$cur")
    [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}
complete -F _pickfs_names -o nosort -o bashdefault -o default pickfs 2>/dev/null ||
    complete -F _pickfs_names -o bashdefault -o default pickfs
