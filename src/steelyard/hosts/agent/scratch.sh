# Directories of a run, for agent.sh, and the way there that nobody else may change:
# docs/reference/agent-protocol.md tells the rule. Each of scratch.1, scratch.2 … in $sy_dir has the mark of one, its path, and the parents made for it.
sy_marker=.steelyard-scratch sy_noted=0

# Who may write -----------------------------------------------------------------------------------------------

entry() { # PATH: its mode, owner and group, of a link its own; fails where nothing is
    set -- $(ls -ldn "$1")
    sy_mode=${1-} sy_owner=${3-} sy_group=${4-}
    [ "$sy_mode" ]
}

is_open() { # whether anybody but us and root may write what `entry` saw
    case $sy_mode in
    ????????w* | ?????w????+*) return 0 ;; # others, or whom an ACL names
    ?????w*) [ ! "$sy_shows_acl" ] || has_others "$sy_group" ;;
    *) return 1 ;;
    esac
}

has_others() ( # GID: whether somebody else may belong to this group
    sy_me=$(id -un) sy_primary=$(id -g) sy_listed= IFS=:,
    while read -r sy_name sy_word sy_gid sy_members; do
        [ "$sy_gid" = "$1" ] || continue
        sy_listed=yes
        for sy_word in $sy_members; do
            case $sy_word in root | "$sy_me") ;; *) exit 0 ;; esac
        done
        # A directory service need not list whose primary group it is.
        [ "$1" = 0 ] || [ "$1" != "$sy_primary" ] || [ "$sy_name" = "$sy_me" ] || exit 0
    done </etc/group
    [ "$sy_listed" ] || exit 0
    [ "$1" != 0 ] || exit 1
    while read -r sy_name sy_word sy_number sy_gid sy_word; do
        case $sy_gid:$sy_number in "$1:0" | "$1:$sy_uid") ;; "$1":*) exit 0 ;; esac
    done </etc/passwd
    exit 1
)

read_trusted() { # the directories that the user trusts, a line each
    sy_trusted= sy_list=${XDG_CONFIG_HOME:-${HOME-}/.config}/steelyard/trusted
    entry "$sy_list" && [ "$sy_owner" = "$sy_uid" ] && ! is_open || return 0
    case $sy_mode in -*) ;; *) return 0 ;; esac
    while IFS= read -r sy_text || [ "$sy_text" ]; do
        case $sy_text in /*) sy_trusted=$sy_trusted${sy_text%/}$NL ;; esac
    done <"$sy_list"
}

is_trusted() { # PATH, without links
    while IFS= read -r sy_text; do
        [ "$sy_text" ] || continue
        case $1/ in "$sy_text"/*) return 0 ;; esac
    done <<END
$sy_trusted
END
    return 1
}

# The way -----------------------------------------------------------------------------------------------------

walk() { # PATH MAKE: whether only we and root can change where it leads; with MAKE, what is missing is made
    sy_ahead=$1/ sy_links=0 sy_made= sy_doubt= sy_why=
    read_trusted
    lead_to /
    while [ "$sy_ahead" ]; do
        sy_name=${sy_ahead%%/*} sy_ahead=${sy_ahead#*/}
        case $sy_name in
        '' | .) ;;
        ..) lead_to "${sy_here%/*}/" || return ;;
        *) pass "$sy_here/$sy_name" "$2" || return ;;
        esac
    done
    sy_why=$sy_doubt
    [ ! "$sy_why" ]
}

lead_to() { # PATH: go on from the root; who can change a link is not stopped by where it leads now
    sy_why=$sy_doubt sy_ahead=$1$sy_ahead
    [ ! "$sy_why" ] && entry / && arrive /
}

arrive() { # DIRECTORY: `entry` saw it; what speaks against it is a doubt, which a trusted one below may clear
    sy_here=${1%/} sy_sticky=
    if is_trusted "$sy_here"; then
        sy_doubt=
        return
    fi
    doubt_owner "$1"
    is_open || return 0
    case $sy_mode in ?????????[tT]*) sy_sticky=yes ;; *) doubt "other accounts may write $1" ;; esac
}

doubt_owner() { # ENTRY
    case $sy_owner in 0 | "$sy_uid" | "$sy_nobody") ;; *) doubt "$1 belongs to another account (uid $sy_owner)" ;; esac
}

allow_nobody() { # in a user namespace that knows no root, root's directories show the uid that stands for all
    sy_nobody=
    while read -r sy_word sy_number sy_text; do [ "$sy_number" != 0 ] || return 0; done </proc/self/uid_map
    read -r sy_nobody </proc/sys/kernel/overflowuid
}

doubt() { # REASON: the first one counts
    sy_doubt=${sy_doubt:-$1}
}

pass() { # ENTRY MAKE
    if ! entry "$1"; then
        sy_why=${sy_doubt:-"$1 does not exist"}
        [ "$2" ] && [ ! "$sy_doubt" ] || return
        if sy_why=$(mkdir -m 711 "$1" 2>&1); then sy_made=$1$NL$sy_made; fi
        entry "$1" || return
    fi
    if [ "$sy_sticky" ]; then doubt_owner "$1"; fi
    case $sy_mode in
    l*) follow "$1" ;;
    d*) arrive "$1" ;;
    *) sy_why="$1 is not a directory"; return 1 ;;
    esac
}

follow() { # LINK
    sy_links=$((sy_links + 1)) sy_target=$(readlink -n "$1"; echo .)
    sy_target=${sy_target%.} sy_why=$sy_doubt
    [ ! "$sy_why" ] || return
    [ "$sy_target" ] && [ $sy_links -le 40 ] || { sy_why="$1 is a link that leads nowhere"; return 1; }
    case $sy_target in
    /*) lead_to "$sy_target/" ;;
    *) sy_ahead=$sy_target/$sy_ahead ;;
    esac
}

make_own() { # make our own directory, where nobody else can change the way
    allow_nobody
    for sy_place in "${TMPDIR:-/tmp}" /tmp /var/tmp; do
        sy_dir=${sy_place%/}/steelyard-agent-$(random 8) sy_why="it does not begin with /"
        case $sy_place in /*) walk "$sy_place" '' && sy_why=$(mkdir -m 700 "$sy_dir" 2>&1) && return ;; esac
        event say "$sy_place is not used for the agent's own files: $sy_why"
    done
    return 1
}

# Scratch -----------------------------------------------------------------------------------------------------

is_scratch() { # PATH MARK: whether it is ours alone, and bears this mark; servers may have been given passage
    entry "$1" && [ "$sy_owner" = "$sy_uid" ] || return
    case $sy_mode in d???--?--?*) ;; *) return 1 ;; esac
    entry "$1/$sy_marker" && [ "$sy_owner" = "$sy_uid" ] || return
    case $sy_mode in -*) ;; *) return 1 ;; esac
    [ "$(cat "$1/$sy_marker"; echo .)" = "$2." ]
}

make_scratch() { # PATH MARK: also where it is there already; fails with the reason in sy_why
    case $1 in
    *"$NL"*) sy_why='the path of a scratch directory may not hold a newline'; return 1 ;;
    /*/*) walk "${1%/*}" make || return ;;
    esac
    if sy_why=$(mkdir -m 700 "$1" 2>&1); then
        sy_why=$(write "$1/$sy_marker" "$2") && return
        rm -f "$1/$sy_marker"
        rmdir "$1"
    elif is_scratch "$1" "$2"; then return
    elif entry "$1"; then
        sy_why="$1 exists already and is not this run's own: a directory, no link, that is ours, that no other account \
may read or write, and that bears this run's mark"
    fi
    return 1
}

note_scratch() { # PATH MARK
    if make_scratch "$@"; then
        sy_noted=$((sy_noted + 1))
        printf '%s\n' "$2" "$1" "$sy_made" >"$sy_dir/scratch.$sy_noted"
        reply 0 ''
    else
        remove_empty "$sy_made"
        reply 1 "$sy_why"
    fi
}

remove_empty() { # LINES: directories that we made, the innermost first; others may use them by now
    while IFS= read -r sy_text && [ "$sy_text" ]; do rmdir "$sy_text"; done <<END 2>/dev/null
$1
END
}

write() ( # PATH CONTENT: into a new file; prints what stands in its way
    exec 2>&1
    umask 077
    set -C
    printf %s "$2" >"$1"
)

unmake() { # NOTE: remove what it tells of; prints what stands in its way
    { read -r sy_mark; IFS= read -r sy_path; sy_made=$(cat); } <"$1"
    (raze "$sy_path" "$sy_mark" 2>&1) || return
    remove_empty "$sy_made"
    rm -f "$1"
}

raze() { # PATH MARK: links are not followed, and what is mounted in it stays
    entry "$1" || return 0
    if ! is_scratch "$1" "$2"; then # empty and without a marker: a removal that was cut short at its last step
        entry "$1" && [ "$sy_owner" = "$sy_uid" ] && rmdir "$1" 2>/dev/null && return
        echo "$1 is not the directory that was made there: it stays"
        return 1
    fi
    cd "$1" || return
    find . -xdev ! -type d ! -path ./$sy_marker -exec rm -f {} +
    find . -xdev -depth -type d ! -name . -exec rmdir {} +
    set +f
    for sy_each in * .[!.]* ..?*; do # the marker goes last, so that a removal cut short can be taken up again
        if { [ -e "$sy_each" ] || [ -h "$sy_each" ]; } && [ "$sy_each" != $sy_marker ]; then return 1; fi
    done
    rm -f $sy_marker
    cd /
    rmdir "$1"
}

remove_scratch() { # ID SECONDS PATH
    sy_id=$1 sy_seconds=$2
    (
        mark
        set +f
        for sy_each in "$sy_dir"/scratch.*; do
            { read -r sy_mark; IFS= read -r sy_path; } <"$sy_each"
            if [ "$sy_path" = "$3" ]; then unmake "$sy_each"; exit; fi
        done
        [ ! -e "$3" ] && [ ! -h "$3" ] || { echo "$3 is no scratch directory of this agent's"; exit 1; }
    ) </dev/null >"$sy_dir/$sy_id.out" 2>/dev/null 3>&- &
    see_to_end
}
