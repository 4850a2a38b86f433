# What a vault does on a host: functions, one of which the caller names in a last line, with "$@". Lists come as
# standard input, a line an item. Needs a POSIX shell, and coreutils and findutils of GNU.
# No name passes through eval, and none holds a newline: `survey` refuses those.
set -e # what fails ends it, with its own words
LC_ALL=C
export LC_ALL
unset OMP_NUM_THREADS OMP_THREAD_LIMIT # nproc would believe them
cores=$(nproc)

# A directory for what is half done. It goes however this ends, short of SIGKILL; `old` sees to those.
set_aside() { # where
    aside=$(mktemp -d "$1/XXXXXXXXXX.part")
    trap 'rm -rf -- "$aside"' EXIT
    trap 'exit 1' HUP INT TERM
}

# Lines SIZE<tab>PATH and DIGEST<space><space>PATH of all files below a directory.
# Large ones are hashed by a process each, so that all cores are busy.
survey() { # directory
    ls -d -- "$1/." >/dev/null
    cd -- "$1"
    odd=$(find . -mindepth 1 \( -type l -printf "'%P' is a symbolic link\n" \
        -o ! -type f ! -type d -printf "'%P' is not a regular file\n" \
        -o \( -name '-*' -o -name '*[! -~]*' -o -name "*[\\\\'\"]*" \) -printf "'%P' is an odd name\n" \))
    if [ -n "$odd" ]; then
        printf '%s\n' "$odd" | head -n 5 >&2
        exit 1
    fi
    find . -type f -printf '%s\t%P\n'
    find . -type f -size +2048 -printf '%P\0' | xargs -0 -r -n 1 -P "$cores" sha256sum --
    find . -type f ! -size +2048 -printf '%P\0' | xargs -0 -r -n 32 -P "$cores" sha256sum --
}

# Lay files aside by their digest. Standard input: three lines each, HOW, AB/DIGEST, PATH below the directory.
by_digest='
aside=$1
shift
while [ $# -ge 3 ]; do
    if [ "$1" = symlink ]; then
        ln -s -- "$PWD/$3" "$aside/$2" || exit 255
    elif [ "$1" != link ] || ! ln -- "$3" "$aside/$2" 2>/dev/null; then
        cp -- "$3" "$aside/$2" || exit 255
    fi
    shift 3
done'

stage() { # directory, first two digits of the digests...
    cd -- "$1"
    shift
    (cd -- "$aside" && mkdir -- "$@")
    xargs -d '\n' -r -n 24 -P "$cores" sh -c "$by_digest" sh "$aside"
}

# Lay files where they belong below the working directory. Standard input: three lines each, HOW, SOURCE (absolute,
# or AB/DIGEST below the vault's files), and DIGEST<space><space>PATH. Prints what sha256sum finds wrong.
by_path='
files=$1
shift
lines=
while [ $# -ge 3 ]; do
    source=$2
    path=${3#*  }
    lines="$lines$3
"
    case $source in /*) ;; *) source=$files/$source ;; esac
    case $path in */*) [ -d "${path%/*}" ] || mkdir -p -- "${path%/*}" || exit 255 ;; esac
    if [ -f "$source" ] && [ ! -L "$source" ]; then
        { [ "$1" = link ] && ln -L -- "$source" "$path" 2>/dev/null; } || cp -- "$source" "$path" || exit 255
    fi
    shift 3
done
printf %s "$lines" | sha256sum -c --quiet 2>/dev/null || :'

# All or nothing: aside first, and to where they belong once every one of them is right.
lay() { # files of the vault, target
    list=$(cat)
    cd -- "$aside"
    faults=$(printf '%s\n' "$list" | xargs -d '\n' -r -n 24 -P "$cores" sh -c "$by_path" sh "$1")
    if [ -n "$faults" ]; then
        printf '%s\n' "$faults"
    elif ! cp -lRf -- ./. "$2/" 2>/dev/null && ! cp -Rf -- ./. "$2/"; then
        cd -- "$2"
        printf '%s\n' "$list" | sed -n 's/^[0-9a-f]\{64\}  //p' | xargs -d '\n' -r rm -f --
        exit 1
    fi
}

# Digests of those that a directory has under these names.
cached() { # directory
    cd -- "$1" 2>/dev/null || exit 0
    while read -r digest; do
        [ ! -f "$digest" ] || printf '%s\n' "$digest"
    done
}

# Into a directory below this one, and not through a link to somewhere else, which a stranger may have put there.
enter() { # name
    above=$(pwd -P)
    cd -P -- "$1"
    if [ "$(pwd -P)" != "${above%/}/$1" ]; then
        printf '%s\n' "'$1' is a symbolic link, and nobody knows to what" >&2
        exit 1
    fi
}

# What follows is for a vault in a directory; `vault_s3.sh` has the same for an object store.

# Lines SIZE<space>AB/DIGEST of those that are there, and complaints about others.
sizes() { # place
    ls -d -- "$1/files" >/dev/null
    cd -- "$1/files"
    : ./*/ # NFS looks again what is in a directory when it is opened
    xargs -d '\n' -r stat -c '%s %n' -- 2>&1 || :
}

# The same; and what is there counts as new, lest a sweep takes it before a manifest refers to it.
refresh() { # place
    umask 077
    mkdir -p -- "$1/files"
    list=$(cat)
    cd -- "$1/files"
    printf '%s\n' "$list" | xargs -d '\n' -r touch -c -h --
    printf '%s\n' "$list" | sizes "$1"
}

# On disk before it has its name, and its name on disk before this returns. Prints SIZE<space>AB/DIGEST of all.
store() { # place, directory, first two digits of the digests...
    umask 077
    files=$1/files
    set_aside "$files"
    shift
    stage "$@"
    shift
    find "$aside" -type f -printf '%s %P\n' -exec touch -c -- {} +
    sync -f -- "$aside"
    cd -- "$files"
    mkdir -p -- "$@"
    # Links take one process; where there are none, renaming takes one a directory.
    cp -lRf -- "$aside/." . 2>/dev/null || for two; do
        [ -z "$(ls -- "$aside/$two")" ] || (enter "$two" && mv -f -t . -- "$aside/$two"/*)
    done
    sync -f .
}

fetch() { # place, target
    ls -d -- "$1/files" "$2/." >/dev/null
    set_aside "$2"
    lay "$1/files" "$2"
}

publish() { # place, name
    umask 077
    mkdir -p -- "$1" # there is none yet where no node had a file
    cd -- "$1"
    name=$2 aside=
    trap 'rm -f -- "$aside"; rmdir -- "$name" 2>/dev/null || :' EXIT # where a manifest is in it, it stays
    trap 'exit 1' HUP INT TERM
    mkdir -p -- "$name"
    (enter "$name")
    aside=$(mktemp "$name/XXXXXXXXXX.part")
    cat >"$aside"
    sync -- "$aside"
    if ! ln -T -- "$aside" "$name/manifest.json"; then # a link replaces nothing; not all file systems have them
        [ ! -e "$name/manifest.json" ] || exit 1
        mv -T -- "$aside" "$name/manifest.json"
    fi
    sync -f -- "$name"
}

names() { # place
    [ -d "$1" ] || case $(ls -d -- "$1" 2>&1) in *"No such file or directory") exit 0 ;; esac
    ls -- "$1" >/dev/null
    cd -- "$1"
    for manifest in */manifest.json; do
        [ -L "$manifest" ] || [ -L "${manifest%/*}" ] || [ ! -f "$manifest" ] || printf '%s\n' "${manifest%/*}"
    done
}

# A stranger may have put a pipe or a device there since it was listed, or made it larger than any memory.
manifest() { # place, name, bytes
    cd -- "$1"
    enter "$2"
    dd if=manifest.json iflag=nofollow,nonblock,fullblock,count_bytes bs=64K count="$3" status=none
}

withdraw() { # place, names...
    cd -- "$1"
    shift
    for name; do
        rm -f -- "$name/manifest.json"
        rmdir -- "$name" 2>/dev/null || : # somebody's file may be in it
    done
}

# Lines SIZE<space>AB/DIGEST of files older than so many minutes. What killed processes left aside is removed.
old() { # place, minutes
    [ -d "$1/files" ] || exit 0
    cd -- "$1/files"
    find . -mindepth 1 -maxdepth 1 -name '*.part' -type d -mmin "+$2" -exec rm -rf -- {} +
    find . -path './*.part' -prune -o -type f -mmin "+$2" -printf '%s %P\n'
}

# Removes files unless somebody refreshed them meanwhile. Lines AB/DIGEST of what is gone, and complaints.
sweep() { # place, minutes
    cd -- "$1/files"
    xargs -d '\n' -r sh -c 'minutes=$1
        shift
        find "$@" -maxdepth 0 -type f -mmin "+$minutes" -printf "%p\n" -delete' sh "$2" 2>&1 || :
}
