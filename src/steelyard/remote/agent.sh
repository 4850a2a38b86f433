# The agent on a host where nothing of ours is installed: docs/agent-protocol.md says what it understands.
#
# Its arguments are TOKEN BEAT PATIENCE; $sy_gate holds gate.sh. It runs under any POSIX shell. All variables
# begin with sy_, so that none that a program inherits is changed. Standard error is kept for events (3).
#
# In $sy_dir lie, for each child ID: ID.job (the pid of its first process; the child exists as long as the file
# does), ID.run (the pid of the subshell that waits for it), ID.kill (it is being ended), ID.out, ID.at, ID.times.
sy_token=$1 sy_beat=$2 sy_patience=$3 sy_run=${1%%:*}
sy_locale=${LC_ALL+set} sy_lc_all=${LC_ALL-}
NL='
'
LC_ALL=C # lengths are counted in bytes
export LC_ALL
set -f
exec 3>&2 2>/dev/null

# What this host has -----------------------------------------------------------------------------------------

if [ "${BASH_VERSION-}" ] && [ "${EPOCHREALTIME-}" ]; then
    now() { sy_now=$EPOCHREALTIME; sy_now=${sy_now%[.,]*}${sy_now#*[.,]}000; }
else
    now() {
        sy_now=$(date +%s%N)
        case $sy_now in *[!0-9]*) sy_now=${sy_now%%[!0-9]*}000000000 ;; esac
    }
fi

if printf 'a\0b' | grep -qzxF b; then
    marked() { grep -lzxF "$@" /dev/null; }
else
    marked() { # like grep -lzxF
        sy_words=
        while [ "$1" = -e ]; do sy_words="$sy_words$2$NL"; shift 2; done
        for sy_file; do
            tr '\0' '\n' <"$sy_file" | grep -qxF "${sy_words%"$NL"}" && printf '%s\n' "$sy_file"
        done
    }
fi

if sleep 0.001; then sy_nap=0.05; else sy_nap=1; fi
sy_setsid= sy_env=env
if setsid true; then sy_setsid=setsid; fi
# A shell lets what it starts in the background ignore Ctrl-C; only a new env(1) can undo that.
if env --default-signal=INT,QUIT true; then sy_env='env --default-signal=INT,QUIT'; fi

# Words ------------------------------------------------------------------------------------------------------

reply() { printf '%s %s\n%s' "$1" "${#2}" "$2"; } # CODE BYTES

reply_file() { # FILE
    sy_size=$(wc -c <"$1")
    printf '0 %s\n' $((sy_size))
    cat "$1"
}

event() { printf '%s\n' "$*" >&3; }

ms() { # SECONDS, decimal, as milliseconds in sy_ms
    case $1 in *.*) sy_part=${1#*.}000 ;; *) sy_part=000 ;; esac
    sy_part=${sy_part%"${sy_part#???}"}
    sy_ms=$((${1%%.*} * 1000 + 1$sy_part - 1000))
}

seconds() { # NS, as decimal seconds in sy_seconds
    sy_part=$(($1 % 1000000000 + 1000000000))
    sy_seconds=$(($1 / 1000000000)).${sy_part#1}
}

# Processes --------------------------------------------------------------------------------------------------

bearers() { # ID...: the pids of what bears our token and one of these
    for sy_each; do
        shift
        set -- "$@" -e "STEELYARD_CHILD=$sy_each"
    done
    set +f
    set -- $(marked "$@" /proc/[0-9]*/environ)
    [ $# -gt 0 ] || return 0
    for sy_each in $(marked -e "STEELYARD_TOKEN=$sy_token" "$@"); do
        sy_each=${sy_each#/proc/}
        echo "${sy_each%/environ}"
    done
}

tree() { # ID...: the pids of these children, wherever they went, with all below them and in their sessions
    sy_sessions=' '
    [ "$sy_setsid" ] && for sy_each; do
        sy_first=
        read -r sy_first <"$sy_dir/$sy_each.job"
        # Session 0 is that of the kernel, and of all that came into a container from outside.
        case $sy_first in '' | *[!0-9]* | 0* | 1) ;; *) sy_sessions="$sy_sessions$sy_first " ;; esac
    done
    sy_found=" $(echo $(bearers "$@")) "
    sy_table=$(set +f; cat /proc/[0-9]*/stat)
    # A process in the middle of an exec shows no environment; it has one at the second look.
    sy_found="$sy_found$(echo $(bearers "$@")) "
    sy_live=' '
    case $sy_found$sy_sessions in *[0-9]*) ;; *) return 0 ;; esac
    case $sy_found in *[0-9]*) ;; *) # mostly nothing is left: one look for the session spares reading the table
        [ $# -gt 1 ] || case $sy_table in *"$sy_sessions"*) ;; *) return 0 ;; esac ;;
    esac
    while
        sy_more=
        while read -r sy_line; do
            sy_pid=${sy_line%% *}
            case $sy_pid in '' | *[!0-9]*) continue ;; esac
            case $sy_spared$sy_live in *" $sy_pid "*) continue ;; esac
            set -- ${sy_line##*) }
            case $1 in [ZX]) continue ;; esac
            case $sy_sessions in *" ${4:-0} "*) ;; *)
                case $sy_found in *" $sy_pid "* | *" ${2:-0} "*) ;; *) continue ;; esac ;;
            esac
            sy_found="$sy_found$sy_pid " sy_live="$sy_live$sy_pid " sy_more=yes
        done <<END
$sy_table
END
        [ "$sy_more" ]
    do :; done
    echo $sy_live
}

strike() { # ID...: kill them all; frozen first, until a look finds nothing new, since what is frozen cannot fork
    sy_frozen=' '
    while
        sy_new=
        for sy_one in $(tree "$@"); do
            case $sy_frozen in *" $sy_one "*) continue ;; esac
            kill -STOP "$sy_one" && sy_new=yes
            sy_frozen="$sy_frozen$sy_one "
        done
        [ "$sy_new" ]
    do :; done
    for sy_one in $sy_frozen; do kill -KILL "$sy_one"; done
}

ask_to_end() { # ID...
    for sy_one in $(tree "$@"); do
        kill -TERM "$sy_one"
        kill -CONT "$sy_one" # a stopped process would not hear the other
    done
}

settle() { # end what child sy_id left running; sy_left counts it
    sy_left=0 sy_counted=' '
    while sy_rest=$(tree "$sy_id"); [ "$sy_rest" ]; do
        sy_table=$(set +f; cat /proc/[0-9]*/stat)
        case $sy_table in *" $sy_first "*) ;; *) echo >"$sy_dir/$sy_id.job" ;; esac # the number is free for others
        if [ ! -e "$sy_dir/$sy_id.kill" ]; then # else it may have a grace, and somebody who sees to its end
            for sy_one in $sy_rest; do
                case $sy_counted in *" $sy_one "*) continue ;; esac
                sy_counted="$sy_counted$sy_one " sy_left=$((sy_left + 1))
            done
            strike "$sy_id"
        fi
        sleep $sy_nap
    done
}

become() { # WORD...: this subshell is replaced by a program that bears our marks
    if [ "$sy_locale" ]; then LC_ALL=$sy_lc_all; else unset LC_ALL; fi
    STEELYARD_TOKEN=$sy_token STEELYARD_CHILD=$sy_id
    export STEELYARD_TOKEN STEELYARD_CHILD
    if [ "${sy_at--}" = - ]; then exec 3>&-; fi # a gate says itself when it is ready
    exec $sy_setsid $sy_env "$@"
}

# do ---------------------------------------------------------------------------------------------------------

run_script() { # ID SECONDS SCRIPT WORD...
    sy_id=$1 sy_seconds=$2 sy_script=$3
    shift 3
    cd /
    (
        ulimit -f 32768 # blocks of 512 bytes: 16 MiB
        become sh -c "$sy_script" sh "$@"
    ) </dev/null >"$sy_dir/$sy_id.out" 2>/dev/null 3>&- &
    sy_first=$!
    echo $sy_first >"$sy_dir/$sy_id.job"
    end_late "$sy_seconds" 3>&- &
    wait $sy_first
    sy_code=$?
    settle
    if [ -e "$sy_dir/$sy_id.late" ]; then sy_code=124; fi
    event "done" "$sy_id" $sy_code
    rm -f "$sy_dir/$sy_id.late" "$sy_dir/$sy_id.kill" "$sy_dir/$sy_id.run" "$sy_dir/$sy_id.job"
}

end_late() { # SECONDS
    ms "$1"
    now
    sy_until=$((sy_now + sy_ms * 1000000))
    while sleep $sy_nap; [ -e "$sy_dir/$sy_id.job" ]; do
        now
        [ "$sy_now" -lt "$sy_until" ] && continue
        echo >"$sy_dir/$sy_id.late"
        strike "$sy_id"
    done
}

# start ------------------------------------------------------------------------------------------------------

fail() { # WHAT ERRNO
    event failed "$sy_id" "$1" "$2"
    rm -f "$sy_dir/$sy_id.run" "$sy_dir/$sy_id.job"
    exit
}

why_not() { # PATH: what stands in the way of opening it for writing
    sy_parent=${1%/*}/
    if [ -d "$1" ]; then echo EISDIR
    elif [ -e "${sy_parent%/}" ] && [ ! -d "$sy_parent" ]; then echo ENOTDIR
    elif [ ! -e "$sy_parent" ]; then echo ENOENT
    else
        case $( { true >"$1"; } 2>&1 ) in
        *space*) echo ENOSPC ;; *uota*) echo EDQUOT ;; *ead-only*) echo EROFS ;; *ermission*) echo EACCES ;;
        *) echo EIO ;;
        esac
    fi
}

find_program() { # NAME: fails when it cannot be started; sy_why tells why
    sy_why=ENOENT
    case $1 in
    */*) set -- "" "$1" ;;
    '') return 1 ;;
    *)
        sy_ifs=$IFS
        IFS=:
        set -- "$1" $sy_path
        IFS=$sy_ifs
        sy_name=$1
        shift
        for sy_each; do
            shift
            set -- "$@" "${sy_each:-.}/$sy_name"
        done
        set -- "" "$@"
        ;;
    esac
    shift
    for sy_each; do
        if [ -f "$sy_each" ]; then
            [ -x "$sy_each" ] && return 0
            sy_why=EACCES
        elif [ -d "$sy_each" ] && [ $# -eq 1 ]; then sy_why=EACCES
        fi
    done
    return 1
}

check_start() { # WORD...: refuse what cannot be started; sy_program is the program
    cd "$sy_cwd" || {
        [ -e "$sy_cwd" ] || fail directory ENOENT
        [ -d "$sy_cwd" ] || fail directory ENOTDIR
        fail directory EACCES
    }
    sy_n=0 sy_path=$PATH sy_program=
    for sy_each; do
        if [ $sy_n -ge "$sy_envs" ]; then
            sy_program=$sy_each
            break
        fi
        case $sy_each in PATH=*) sy_path=${sy_each#PATH=} ;; esac
        sy_n=$((sy_n + 1))
    done
    if [ "$sy_in" = - ]; then sy_in=/dev/null; fi
    [ -e "$sy_in" ] || fail stdin ENOENT
    [ -r "$sy_in" ] || fail stdin EACCES
    true >"$sy_out" || fail stdout "$(why_not "$sy_out")"
    true >"$sy_err" || fail stderr "$(why_not "$sy_err")"
    find_program "$sy_program" || fail program $sy_why
}

run_program() { # ID AT CWD STDIN STDOUT STDERR ENVS VAR=VALUE... PROGRAM WORD...
    sy_id=$1 sy_at=$2 sy_cwd=$3 sy_in=$4 sy_out=$5 sy_err=$6 sy_envs=$7
    shift 7
    check_start "$@"
    sy_via=
    case $sy_program in *=*) sy_via='exec "$@"' ;; esac # env(1) would take it for a variable
    if [ "$sy_at" != - ]; then sy_via=$sy_gate; fi
    if [ "$sy_via" ]; then
        sy_n=0
        for sy_each; do
            shift
            if [ $sy_n -eq "$sy_envs" ]; then
                set -- "$@" sh -c "$sy_via" sh
                if [ "$sy_at" != - ]; then set -- "$@" "$sy_at" "$sy_dir/$sy_id.at"; fi
            fi
            set -- "$@" "$sy_each"
            sy_n=$((sy_n + 1))
        done
    fi
    now
    sy_began=$sy_now
    if [ "$sy_out" = "$sy_err" ]; then
        become "$@" <"$sy_in" >"$sy_out" 2>&1 &
    else
        become "$@" <"$sy_in" >"$sy_out" 2>"$sy_err" &
    fi
    sy_first=$!
    echo $sy_first >"$sy_dir/$sy_id.job"
    if [ "$sy_at" = - ]; then event started "$sy_id" $sy_first; fi
    wait $sy_first
    sy_code=$?
    times >"$sy_dir/$sy_id.times"
    now
    settle
    tell_exit
    rm -f "$sy_dir/$sy_id.times" "$sy_dir/$sy_id.at" "$sy_dir/$sy_id.kill" "$sy_dir/$sy_id.run" \
        "$sy_dir/$sy_id.job"
}

tell_exit() {
    sy_started=$sy_began sy_released=- sy_signal=-
    if [ "$sy_at" != - ]; then
        sy_started=-
        if read -r sy_released sy_started <"$sy_dir/$sy_id.at"; then
            sy_began=$sy_released
        else # ended while it waited
            sy_released=- sy_started=-
        fi
    fi
    # A shell cannot tell a program that a signal ended from one that exits with 128 and its number.
    if [ $sy_code -gt 128 ] && [ $sy_code -le 192 ]; then sy_signal=$((sy_code - 128)) sy_code=-; fi
    { read -r sy_line; read -r sy_user sy_system; } <"$sy_dir/$sy_id.times"
    cpu_time "$sy_user"
    sy_user=$sy_seconds
    cpu_time "$sy_system"
    sy_system=$sy_seconds
    sy_wall=$((sy_now - sy_began))
    [ $sy_wall -ge 0 ] || sy_wall=0
    seconds $sy_wall
    event exited "$sy_id" "$sy_code" "$sy_signal" "$sy_seconds" "$sy_user" "$sy_system" - \
        "$sy_started" "$sy_released" "$sy_left"
}

cpu_time() { # 1m2.34s, as decimal seconds in sy_seconds
    sy_part=${1#*m}
    sy_part=${sy_part%s}
    sy_seconds=$((${1%%m*} * 60 + ${sy_part%%.*})).${sy_part#*.}
}

# kill -------------------------------------------------------------------------------------------------------

end_child() { # ID GRACE
    [ -e "$sy_dir/$1.job" ] || return 0
    echo >"$sy_dir/$1.kill"
    ms "$2"
    now
    sy_until=$((sy_now + sy_ms * 1000000))
    ask_to_end "$1"
    while [ -e "$sy_dir/$1.job" ]; do
        now
        if [ "$sy_now" -ge "$sy_until" ]; then strike "$1"; fi
        sleep $sy_nap
    done
    rm -f "$sy_dir/$1.kill"
}

# read -------------------------------------------------------------------------------------------------------

read_files() { # PATTERN...
    set +f
    IFS=
    for sy_each; do # only files: a named pipe would hold us up
        shift
        case $sy_each in
        *'*'*) set -- "$@" $sy_each ;;
        *) set -- "$@" "$sy_each" ;;
        esac
    done
    sy_kernel=yes
    for sy_each; do
        shift
        [ -f "$sy_each" ] && [ -r "$sy_each" ] || continue
        case $sy_each in */cmdline | */environ) sy_kernel= ;; /proc/* | /sys/*) ;; *) sy_kernel= ;; esac
        set -- "$@" "$sy_each"
    done
    [ $# -gt 0 ] || return 0
    [ "$sy_kernel" ] && read_lines "$@" >"$sy_dir/frames" || read_bytes "$@" >"$sy_dir/frames"
}

read_lines() { # FILE...: text of the kernel's, which ends with a newline, all by one program
    awk 'BEGIN {
        for (i = 1; i < ARGC; i++) {
            file = ARGV[i]; lines = bytes = 0
            while ((got = (getline line < file)) > 0 && bytes + length(line) < 1048576) {
                text[++lines] = line; bytes += length(line) + 1
            }
            close(file)
            if (got < 0) continue
            printf "%d %d %s\n", length(file), bytes, file
            for (j = 1; j <= lines; j++) print text[j]
        }
    }' "$@"
}

read_bytes() { # FILE...
    for sy_each; do
        head -c 1048576 <"$sy_each" >"$sy_dir/part" || continue
        sy_size=$(wc -c <"$sy_dir/part")
        printf '%s %s %s\n' ${#sy_each} $((sy_size)) "$sy_each"
        cat "$sy_dir/part"
    done
}

# scratch ----------------------------------------------------------------------------------------------------

sy_marker=.steelyard-scratch sy_noted=0

make_scratch() { # PATH
    sy_noted=$((sy_noted + 1))
    printf '%s.' "$1" >"$sy_dir/scratch.$sy_noted"
    if [ -e "$1" ] || [ -h "$1" ]; then
        reply 0 ''
        return
    fi
    if sy_why=$( { mkdir -p "${1%/*}/" && mkdir -m 700 "$1"; } 2>&1 ); then
        if sy_why=$( { printf %s "$sy_run" >"$1/$sy_marker"; } 2>&1 ); then
            reply 0 ''
            return
        fi
        rm -f "$1/$sy_marker"
        rmdir "$1"
    fi
    rm -f "$sy_dir/scratch.$sy_noted"
    reply 1 "$sy_why"
}

forget() { # PATH
    for sy_each in $(set +f; echo "$sy_dir"/scratch.*); do
        if [ "$(cat "$sy_each")" = "$1." ]; then rm -f "$sy_each"; fi
    done
}

raze() ( # PATH: remove a directory that is ours; links are not followed, and what is mounted in it stays
    [ ! -h "$1" ] && cd "$1" && [ "$(cat $sy_marker)" = "$sy_run" ] || exit 0
    find . -xdev ! -type d ! -path ./$sy_marker -exec rm -f {} +
    find . -xdev -depth -type d ! -name . -exec rmdir {} +
    set +f
    for sy_each in * .[!.]* ..?*; do # the marker goes last, so that a removal cut short can be taken up again
        if { [ -e "$sy_each" ] || [ -h "$sy_each" ]; } && [ "$sy_each" != $sy_marker ]; then exit 0; fi
    done
    rm -f $sy_marker
    rmdir "$1"
)

# The end ----------------------------------------------------------------------------------------------------

end_all() {
    set +f
    for sy_each in "$sy_dir"/*.run; do # so that nothing new is started
        if read -r sy_first <"$sy_each"; then kill -KILL "$sy_first"; fi
    done
    set --
    for sy_each in "$sy_dir"/*.job; do
        sy_each=${sy_each##*/}
        if [ "$sy_each" != '*.job' ]; then set -- "$@" "${sy_each%.job}"; fi
    done
    set -f
    if [ $# -gt 0 ]; then
        ask_to_end "$@"
        sy_n=0
        while sy_rest=$(tree "$@"); [ "$sy_rest" ] && [ $sy_n -lt 20 ]; do
            sleep $sy_nap
            sy_n=$((sy_n + 1))
        done
        # Once more after a pause: what had just been forked bore no token yet.
        while strike "$@"; sleep $sy_nap; sy_rest=$(tree "$@"); [ "$sy_rest" ]; do :; done
    fi
    for sy_each in $(bearers "$sy_watch"); do kill -KILL "$sy_each"; done
    for sy_each in $(set +f; echo "$sy_dir"/scratch.*); do
        sy_path=$(cat "$sy_each") && raze "${sy_path%.}"
    done
    cd /
    rm -rf "$sy_dir"
}

finish() {
    trap '' TERM HUP INT PIPE
    trap - EXIT
    kill -KILL $sy_watcher
    end_all
    exit 0
}

watch() { # ends all when the agent died, or hears nothing for sy_patience seconds
    ms "$sy_patience"
    sy_slice=$((sy_ms / 5)) sy_missed=0 sy_last=
    if [ $sy_nap = 1 ]; then sy_slice=$(((sy_slice + 999) / 1000 * 1000)); fi
    seconds $((sy_slice * 1000000))
    case $sy_nap in 1) sy_slice=${sy_seconds%.*} ;; *) sy_slice=$sy_seconds ;; esac
    # The sleep bears the token: who sweeps it away, ends us.
    while STEELYARD_TOKEN=$sy_token STEELYARD_CHILD=$sy_watch sleep "$sy_slice" && kill -0 $$; do
        read -r sy_beats <"$sy_dir/beats" || sy_beats=
        if [ "$sy_beats" = "$sy_last" ]; then sy_missed=$((sy_missed + 1)); else sy_missed=0; fi
        sy_last=$sy_beats
        [ $sy_missed -lt 5 ] || break
    done
    kill -KILL $$
    end_all
}

# The lease --------------------------------------------------------------------------------------------------

spawn() { # FUNCTION ID WORD...
    echo >"$sy_dir/$2.job"
    "$@" >/dev/null &
    echo $! >"$sy_dir/$2.run"
    sy_runners="$sy_runners $!/$2"
}

reap() { # collect the subshells whose children are gone
    sy_rest=
    for sy_each in $sy_runners; do
        if [ -e "$sy_dir/${sy_each#*/}.job" ]; then
            sy_rest="$sy_rest $sy_each"
        else
            wait "${sy_each%%/*}"
        fi
    done
    sy_runners=$sy_rest
}

replace() { # PATH: the probe takes our place
    kill -KILL $sy_watcher
    # Only its sleep is there: one look for marks is enough, where `strike` reads the table of processes too.
    while sy_rest=$(bearers "$sy_watch"); [ "$sy_rest" ]; do kill -KILL $sy_rest; done
    trap - EXIT
    rm -rf "$sy_dir"
    if [ "$sy_locale" ]; then LC_ALL=$sy_lc_all; else unset LC_ALL; fi
    exec "$1" agent "$sy_token" "$sy_beat" "$sy_patience" 2>&3 3>&-
}

serve() { # WORD...
    case $1 in
    beat) ;;
    clock) now; reply 0 "$sy_now" ;;
    read)
        shift
        (read_files "$@") && [ -e "$sy_dir/frames" ] || : >"$sy_dir/frames"
        reply_file "$sy_dir/frames"
        rm -f "$sy_dir/frames"
        ;;
    do) shift; spawn run_script "$@"; reply 0 '' ;;
    start) shift; spawn run_program "$@"; reply 0 '' ;;
    fetch)
        if [ -e "$sy_dir/$2.out" ]; then
            reply_file "$sy_dir/$2.out"
            rm -f "$sy_dir/$2.out"
        else
            reply 1 "nothing is kept of $2"
        fi
        ;;
    kill) end_child "$2" "$3" >/dev/null 3>&- & sy_runners="$sy_runners $!/$2"; reply 0 '' ;;
    scratch) make_scratch "$2" ;;
    forget) forget "$2"; reply 0 '' ;;
    become) replace "$2" ;;
    *) reply 2 "unknown request: $1" ;;
    esac
}

sy_dir= sy_n=0
until mkdir -m 700 "${TMPDIR:-/tmp}/steelyard-agent-$$.$sy_n"; do
    sy_n=$((sy_n + 1))
    if [ $sy_n -gt 20 ]; then
        event say "no directory for the agent can be made in ${TMPDIR:-/tmp}"
        exit 1
    fi
done
sy_dir=${TMPDIR:-/tmp}/steelyard-agent-$$.$sy_n
printf %s "$sy_run" >"$sy_dir/$sy_marker"
sy_watch=agent-$$ sy_runners= sy_beats=0
# Never to be ended: this shell, and all above it.
sy_spared=' 0 1 ' sy_pid=$$
while case $sy_pid in '' | 0 | 1 | *[!0-9]*) false ;; esac do
    sy_spared="$sy_spared$sy_pid "
    read -r sy_line <"/proc/$sy_pid/stat" || break
    sy_line=${sy_line##*) }
    sy_line=${sy_line#* }
    sy_pid=${sy_line%% *}
done
watch </dev/null >/dev/null 3>&- &
sy_watcher=$!
trap finish EXIT
trap 'exit 1' TERM HUP INT PIPE
printf 'steelyard-agent 1 sh %s %s\n' "$(uname -s)" "$(uname -m)"
while IFS= read -r sy_line; do
    echo $((sy_beats = sy_beats + 1)) >"$sy_dir/beats"
    reap
    eval "serve $sy_line"
done
