# What a vault in an object store does on a host, with the functions of vault.sh. The store is rclone's remote
# `vault:`, which the environment describes; $1 is BUCKET or BUCKET/PREFIX.
remote() {
    # Without a file of settings. rclone 1.60 breaks on AWS_CA_BUNDLE, and takes the same file as an option.
    (
        bundle=${AWS_CA_BUNDLE-}
        unset AWS_CA_BUNDLE
        rclone ${bundle:+--ca-cert "$bundle"} --config "" --retries 2 --low-level-retries 4 --contimeout 15s \
            --transfers 16 --checkers 16 --log-level ERROR "$@"
    )
}

# Lines SIZE<space>AB/DIGEST of those that are there.
sizes() { # place
    remote lsf -R --files-only --format sp --separator ' ' --files-from-raw - "vault:$1/files"
}

# The same; and a note of what is looked for, lest a sweep takes it: an object cannot be made to count as new.
refresh() { # place, name of the note
    list=$(cat)
    printf '%s\n' "$list" | remote rcat "vault:$1/files/$2"
    printf '%s\n' "$list" | sizes "$1"
}

# Prints SIZE<space>AB/DIGEST of all.
store() { # place, directory, first two digits of the digests...
    umask 077
    place=$1
    set_aside "$(dirname -- "$2")"
    shift
    stage "$@"
    remote copy --copy-links --no-check-dest --no-traverse "$aside" "vault:$place/files"
    cd -- "$aside"
    find -L . -type f -printf '%s %P\n'
}

# rclone checks nothing here, for `lay` does, and tells whose file it is.
fetch() { # place, target
    ls -d -- "$2/." >/dev/null
    set_aside "$2"
    mkdir -- "$aside/files" "$aside/laid"
    list=$(cat)
    printf '%s\n' "$list" | sed -n '/^[0-9a-f][0-9a-f]\/[0-9a-f]*$/p' | sort -u |
        remote copy --no-traverse --ignore-checksum --files-from-raw - "vault:$1/files" "$aside/files"
    (
        brought=$aside/files
        aside=$aside/laid
        printf '%s\n' "$list" | lay "$brought" "$2"
    )
}

publish() { # place, name
    remote rcat "vault:$1/$2/manifest.json"
}

names() { # place
    set -- --filter '- /files/**' --filter '+ /*/manifest.json' --filter '- *' "vault:$1"
    found=$(remote lsf -R --max-depth 2 --files-only "$@")
    printf '%s\n' "$found" | sed -n 's,/manifest.json$,,p'
}

manifest() { # place, name, bytes
    remote cat --head "$3" "vault:$1/$2/manifest.json"
}

withdraw() { # place, names...
    place=$1
    shift
    for name; do
        remote deletefile "vault:$place/$name/manifest.json"
    done
}

# Lines SIZE<space>AB/DIGEST of files older than so many minutes, and lines AB/DIGEST of what younger notes tell.
old() { # place, minutes
    set -- --use-server-modtime "vault:$1/files" "$2m"
    remote delete "$1" --min-age "$3" --include '/*.part' "$2"
    remote lsf "$1" --min-age "$3" --exclude '/*.part' -R --files-only --format sp --separator ' ' "$2"
    remote cat "$1" --max-age "$3" --include '/*.part' "$2"
}

# Removes files; lines AB/DIGEST of what is gone.
sweep() { # place, minutes
    list=$(cat)
    printf '%s\n' "$list" | remote delete --files-from-raw - "vault:$1/files"
    printf '%s\n' "$list"
}
