# Processes as /proc shows them, and how whole trees of them end; agent.sh begins with this.
#
# Nobody can forge a line here: each line is read behind its pid, and of a `stat` only what follows the last `)` counts,
# since the name before it may hold blanks, parentheses and newlines. What has left its session and its parents is
# known by the seal, which is in the environment of what this agent started and nobody else can read.

mark() { # what this shell starts is known by this
    STEELYARD_TOKEN=$sy_token STEELYARD_CHILD=$sy_id STEELYARD_CHILD_SEAL=$sy_seal
    export STEELYARD_TOKEN STEELYARD_CHILD STEELYARD_CHILD_SEAL
}

bearers() { # ID...: the pids of what bears our seal and one of these
    sy_words=
    for sy_each; do sy_words=$sy_words${sy_words:+$NL}STEELYARD_CHILD=$sy_each; done
    set +f
    set -- $(marked -f "$sy_dir/seal" /proc/[0-9]*/environ)
    [ $# -gt 0 ] || return 0
    for sy_each in $(marked -e "$sy_words" "$@"); do
        sy_each=${sy_each#/proc/}
        echo "${sy_each%/environ}"
    done
}

table() { # a line PID PARENT SESSION for each process that lives
    set +f
    # Not read by awk itself: mawk ends, and leaves out all that follow, when a process ends between open and read.
    grep '' /proc/[0-9]*/stat /dev/null | awk -F / '
        function show() {
            sub(/^.*\)/, "", text)
            if (split(text, field, " ") > 4 && field[1] !~ /[ZX]/) print pid, field[2], field[4]
        }
        $3 != pid { show(); pid = $3 }
        { text = $0 }
        END { show() }'
}

stat_of() { # PID: what follows its name, in sy_stat
    sy_stat=
    while IFS= read -r sy_text; do sy_stat=$sy_text; done <"/proc/$1/stat"
    sy_stat=${sy_stat##*)}
}

may_signal() { # PID: whether it is ours; root starts programs under other accounts
    [ "$sy_uid" != 0 ] || return 0
    sy_ids=
    while read -r sy_key sy_text; do
        case $sy_key in Uid:) sy_ids=$sy_text ;; esac
    done <"/proc/$1/status"
    set -- $sy_ids
    [ "${1-}" = "$sy_uid" ] || [ "${3-}" = "$sy_uid" ] # the real one, the saved one: kill(2)
}

tree() { # ID...: the pids of these children, wherever they went, with all below them and in their sessions
    sy_sessions=' '
    [ "$sy_setsid" ] && for sy_each; do
        sy_first=
        read -r sy_first <"$sy_dir/$sy_each.job"
        # Session 0 is that of the kernel, and of all that came into a container from outside.
        case $sy_first in '' | *[!0-9]* | 0* | 1) ;; *) sy_sessions="$sy_sessions$sy_first " ;; esac
    done
    sy_known=" $(echo $(bearers "$@")) "
    sy_table=$(table)
    # A process in the middle of an exec shows no environment; it has one at the second look.
    sy_known="$sy_known$(echo $(bearers "$@")) "
    sy_seen=$sy_spared sy_live=
    case $sy_known$sy_sessions in *[0-9]*) ;; *) return 0 ;; esac
    case $sy_known in *[0-9]*) ;; *) # mostly nothing is left: one look for the session spares reading the table
        [ $# -gt 1 ] || case "$sy_table$NL" in *"${sy_sessions% }$NL"*) ;; *) return 0 ;; esac ;;
    esac
    while
        sy_more=
        while read -r sy_pid sy_parent sy_session; do
            case $sy_seen in *" $sy_pid "*) continue ;; esac
            case $sy_sessions in *" $sy_session "*) ;; *)
                case $sy_known in *" $sy_pid "* | *" $sy_parent "*) ;; *) continue ;; esac ;;
            esac
            sy_known="$sy_known$sy_pid " sy_seen="$sy_seen$sy_pid " sy_more=yes
            if may_signal "$sy_pid"; then sy_live="$sy_live $sy_pid"; fi
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
        case "$(table)$NL" in *" $sy_first$NL"*) ;; *) echo >"$sy_dir/$sy_id.job" ;; esac # free for others
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
