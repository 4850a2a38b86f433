# The agent on a host where nothing of ours is installed: docs/reference/agent-protocol.md says what it understands.
#
# Its arguments are TOKEN BEAT PATIENCE; $sy_gate holds gate.sh. It begins with processes.sh and scratch.sh, and runs
# under any POSIX shell. All variables begin with sy_, so that none that a program inherits is changed. Standard error
# is kept for events (3). What is secret is never a word of a program, which everybody sees: the shell handles it.
#
# In $sy_dir lie, for each child ID: ID.job (the pid of its first process; the child exists as long as the file
# does), ID.run (the pid of the subshell that waits for it), ID.kill (it is being ended), ID.out, ID.at, ID.times.
sy_token=$1 sy_beat=$2 sy_patience=$3
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

# Like grep -lzxF: OPTION PATTERNS FILE..., where the option is -e or -f.
if printf 'a\0b' | grep -qzxF b; then
    marked() { grep -lzxF "$@" /dev/null; }
else
    marked() {
        sy_how=$1 sy_what=$2
        shift 2
        for sy_file; do
            tr '\0' '\n' <"$sy_file" | grep -qxF "$sy_how" "$sy_what" && printf '%s\n' "$sy_file"
        done
    }
fi

if sleep 0.001; then sy_nap=0.05; else sy_nap=1; fi
sy_uid=$(id -u) sy_setsid= sy_env=$(command -v env) # paths, as a program may be given another PATH
if setsid true; then sy_setsid=$(command -v setsid); fi
# A shell lets what it starts in the background ignore Ctrl-C; only a new env(1) can undo that.
if env --default-signal=INT,QUIT true; then sy_env="$sy_env --default-signal=INT,QUIT"; fi
case $(ls --version) in *coreutils*) sy_shows_acl=yes ;; *) sy_shows_acl= ;; esac

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

become() { # ENVS VAR=VALUE... PROGRAM WORD...: this subshell is replaced by a program that bears our marks
    sy_n=$1
    shift
    for sy_each; do
        shift
        if [ $sy_n -gt 0 ]; then
            sy_n=$((sy_n - 1))
            if lay_over "$sy_each"; then continue; fi
        fi
        set -- "$@" "$sy_each"
    done
    if [ "$sy_locale" ]; then LC_ALL=$sy_lc_all; else unset LC_ALL; fi
    mark
    if [ "${sy_at--}" = - ]; then exec 3>&-; fi # a gate says itself when it is ready
    exec $sy_setsid $sy_env "$@"
}

lay_over() { # VAR=VALUE: export it; fails for a name that a shell cannot, or that it has for itself
    case ${1%%=*} in
    '' | [!A-Za-z_]* | *[!A-Za-z0-9_]* | _ | sy_* | NL | IFS | OPTIND | UID | EUID | PPID | GROUPS | SECONDS | RANDOM | \
        SRANDOM | LINENO | HISTCMD | FUNCNAME | DIRSTACK | EPOCH* | BASH* | SHELLOPTS) return 1 ;;
    LC_ALL) sy_locale=set sy_lc_all=${1#*=} ;;
    *) export "$1" ;;
    esac
}

# do ---------------------------------------------------------------------------------------------------------

run_script() { # ID SECONDS SCRIPT WORD...
    sy_id=$1 sy_seconds=$2 sy_script=$3
    shift 3
    cd /
    (
        ulimit -f 32768 # blocks of 512 bytes: 16 MiB
        become 0 sh -c "$sy_script" sh "$@"
    ) </dev/null >"$sy_dir/$sy_id.out" 2>/dev/null 3>&- &
    see_to_end
}

see_to_end() { # of what was just begun for child sy_id, which has so many sy_seconds
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
        become "$sy_envs" "$@" <"$sy_in" >"$sy_out" 2>&1 &
    else
        become "$sy_envs" "$@" <"$sy_in" >"$sy_out" 2>"$sy_err" &
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

# The end ----------------------------------------------------------------------------------------------------

end_sleep() { # that of the watcher, until it is gone: who looks for what bears our token must find nothing
    while sy_rest=$(bearers "$sy_watch"); [ "$sy_rest" ]; do kill -KILL $sy_rest; done
}

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
    end_sleep
    set +f
    for sy_each in "$sy_dir"/setting.*; do
        if [ -e "$sy_each" ]; then put_back "$sy_each"; fi
    done
    for sy_each in "$sy_dir"/scratch.*; do
        if [ -e "$sy_each" ]; then unmake "$sy_each" >/dev/null; fi
    done
    cd /
    rm -rf "$sy_dir"
}

put_back() { # NOTE: write to a file of the kernel what is noted
    { IFS= read -r sy_path; IFS= read -r sy_text; } <"$1"
    printf %s "$sy_text" >"$sy_path"
}

note_setting() { # PATH VALUE: one note a path; an empty VALUE takes it away
    for sy_each in "$sy_dir"/setting.*; do
        IFS= read -r sy_path <"$sy_each" || continue
        if [ "$sy_path" = "$1" ]; then rm -f "$sy_each"; fi
    done
    sy_noted=$((sy_noted + 1))
    if [ "$2" ]; then printf '%s\n' "$1" "$2" >"$sy_dir/setting.$sy_noted"; fi
    reply 0 ''
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
    while (sy_id=$sy_watch; mark; exec sleep "$sy_slice") && kill -0 $$; do
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
    end_sleep
    trap - EXIT
    rm -f "$sy_dir/seal" "$sy_dir/beats"
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
    write)
        sy_code=0
        sy_why=$(write "$2" "$3") || sy_code=1
        reply $sy_code "$sy_why"
        ;;
    desk) write "$sy_dir/$sy_marker" "$2" >/dev/null; reply 0 "$sy_dir" ;;
    scratch) note_scratch "$2" "$3" ;;
    remove) shift; spawn remove_scratch "$@"; reply 0 '' ;;
    restore) set +f; note_setting "$2" "$3" 2>/dev/null; set -f ;;
    become) replace "$2" ;;
    *) reply 2 "unknown request: $1" ;;
    esac
}

random() { printf %s $(od -An -v -tx1 -N"$1" /dev/urandom); } # BYTES, in hex

refuse() { # WHY
    event say "the agent ends: $1"
    exit 1
}

case $(command -v printf) in printf) ;; *) refuse 'this shell has no printf of its own, so secrets could be seen' ;; esac
sy_seal=$(random 16)
[ ${#sy_seal} -eq 32 ] || refuse 'od(1) gave no bytes of /dev/urandom'
awk 'BEGIN { exit 0 }' || refuse 'there is no awk(1)'
make_own || refuse 'it found no directory for its own files'
(umask 077; printf %s "STEELYARD_CHILD_SEAL=$sy_seal" >"$sy_dir/seal")
sy_watch=agent-$$ sy_runners= sy_beats=0
# Never to be ended: this shell, and all above it.
sy_spared=' 0 1 ' sy_pid=$$
while case $sy_pid in '' | 0 | 1 | *[!0-9]*) false ;; esac do
    sy_spared="$sy_spared$sy_pid "
    stat_of "$sy_pid"
    set -- $sy_stat
    sy_pid=${2-}
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
