"""What each protocol of `transfer` needs: its client, and the lines of shell that use it.

The lines see these variables: $ADDRESS, $PORT, $MOUNT_PORT (of NFSv3), $FOLDER (the copy's own on the
server), $URL (the folder as a URL), $SSH (options), $STREAMS, $FILES, $SIZE (bytes), $CONCURRENCY. Files are
called file-1 to file-$FILES; where a line works on one, its number is $1. Sources lie in `source`, what was
downloaded in `target`. Where the server has a password it is in $PASSWORD, and the user's name in $LOGIN: in
no argument of a program. Where TLS is to believe an authority, its certificate lies in authority.pem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.plugin import RCLONE, Tool

XRDCP = Tool("xrdcp", apt="xrootd-client", dnf="xrootd-client")
GLOBUS_URL_COPY = Tool("globus-url-copy", apt="globus-gass-copy-progs", dnf="globus-gass-copy-progs")
NFS_CP = Tool("nfs-cp", apt="libnfs-utils", dnf="libnfs-utils", version=())
SCP = Tool("scp", apt="openssh-client", dnf="openssh-clients", version=("-V",))


@dataclass(frozen=True, slots=True)
class TransferProtocol:
    """`upload` and `download` move one file; `size` prints that of an uploaded one; `begin` makes the folder
    on the server, `remove` removes it; `login` comes first where there is a password. `slash`: whether the
    folder's path begins with one; None: as given.

    `is_batch` means that the client takes all files in one process: then `upload` and `download` move them
    all and print how many failed, and `size` is not known but by fetching them back.
    """

    tool: Tool
    url: str
    upload: str
    download: str
    size: str = ""
    begin: str = ":"
    remove: str = ":"
    login: str = ""
    slash: bool | None = True
    is_batch: bool = False
    port: int = 0
    env: tuple[tuple[str, str], ...] = ()

    def folder(self, base: str, name: str) -> str:
        """The path of a folder in a directory of the server."""
        path = f"{base.rstrip('/')}/{name}" if base else name
        return path if self.slash is None else f"/{path.lstrip('/')}" if self.slash else path.lstrip("/")


_SSH = "$SSH -o BatchMode=yes -o ConnectTimeout=15"
# rclone 1.60 with --s3-env-auth breaks on AWS_CA_BUNDLE, and takes the same file as an option.
_RCLONE = (
    'env -u AWS_CA_BUNDLE rclone ${AWS_CA_BUNDLE:+--ca-cert "$AWS_CA_BUNDLE"} --config ""'
    " --retries 1 --low-level-retries 1 --contimeout 15s --ignore-times"
    ' ${AWS_REGION:+--s3-region "$AWS_REGION"}'
    " --s3-provider Other --s3-env-auth --s3-no-check-bucket --s3-force-path-style --s3-endpoint $SERVER"
)
_WEBDAV = (
    'rclone ${AUTHORITY:+--ca-cert authority.pem} --config "" --retries 1 --low-level-retries 1'
    " --contimeout 15s --ignore-times --webdav-vendor other --webdav-url $SERVER"
)
# globus-url-copy tells how many transfers failed in a sentence, and does not stop at the first.
_GLOBUS = """
globus-url-copy -continue-on-error -create-dest -parallel $STREAMS -concurrency $CONCURRENCY \
-stall-timeout 60 -f pairs.txt 2> globus.err || true
sed -n 's/^error: There w.* \\([0-9][0-9]*\\) transfers*\\.$/\\1/p' globus.err > globus.failed
[ -s globus.failed ] || [ ! -s globus.err ] || echo $FILES > globus.failed
awk 'ENVIRON["PASSWORD"] { gsub(ENVIRON["PASSWORD"], "***") } 1' globus.err >> "$OUT/errors.txt"
cat globus.failed
"""
# NFSv3, since libnfs 4.0 writes no more than 3 KB at once by NFSv4. It cannot make directories, nor remove
# anything, so the folder is the beginning of the files' names.
_NFS = '?version=3&nfsport=$PORT${MOUNT_PORT:+&mountport=$MOUNT_PORT}"'
_PAIRS = 'for n in $(seq 1 $FILES); do echo "{}"; done > pairs.txt'
_HERE, _THERE = "file://$PWD/{folder}/file-$n", "$URL/file-$n"

PROTOCOLS: Mapping[str, TransferProtocol] = {
    "xrootd": TransferProtocol(
        XRDCP,
        "root://{address}:{port}/{folder}",
        upload="xrdcp --silent --nopbar --force --streams $STREAMS source/file-$1 $URL/file-$1",
        download="xrdcp --silent --nopbar --force --streams $STREAMS $URL/file-$1 target/file-$1",
        size="xrdfs $ADDRESS:$PORT stat $FOLDER/file-$1 | sed -n 's/^Size: *//p'",
        remove="for n in $(seq 1 $FILES); do xrdfs $ADDRESS:$PORT rm $FOLDER/file-$n || true; done;"
        " xrdfs $ADDRESS:$PORT rmdir $FOLDER || true",
        login='umask 077; printf "%s\\n" "$PASSWORD" > sss.keytab\n'
        'export XrdSecPROTOCOL=sss XrdSecSSSKT="$PWD/sss.keytab"\n',
        port=1094,
        env=(("XRD_CONNECTIONWINDOW", "15"), ("XRD_CONNECTIONRETRY", "1")),
    ),
    "gridftp": TransferProtocol(
        GLOBUS_URL_COPY,
        "{scheme}://{address}:{port}{folder}",
        upload=_PAIRS.format(f"{_HERE.format(folder='source')} {_THERE}") + _GLOBUS,
        download=_PAIRS.format(f"{_THERE} {_HERE.format(folder='target')}") + _GLOBUS,
        login='umask 077; export URL="${URL%%://*}://$LOGIN:$PASSWORD@${URL#*://}"\n',
        is_batch=True,
        port=2811,
    ),
    "s3": TransferProtocol(
        RCLONE,
        "{folder}",
        upload=f"{_RCLONE} --s3-upload-concurrency $STREAMS --s3-chunk-size 5M --s3-upload-cutoff 5M"
        " copyto source/file-$1 :s3:$URL/file-$1",
        download=f"{_RCLONE} --multi-thread-streams $STREAMS --multi-thread-cutoff 1M"
        " copyto :s3:$URL/file-$1 target/file-$1",
        size=f"{_RCLONE} lsf --format s :s3:$URL/file-$1",
        remove=f"{_RCLONE} purge :s3:$URL || true",
        login='export AWS_ACCESS_KEY_ID="$LOGIN" AWS_SECRET_ACCESS_KEY="$PASSWORD" AWS_REGION="$REGION"\n'
        '[ -z "${AUTHORITY-}" ] || export AWS_CA_BUNDLE="$PWD/authority.pem"\n',
        slash=False,
        port=80,
    ),
    "webdav": TransferProtocol(
        RCLONE,
        "{folder}",
        upload=f"{_WEBDAV} copyto source/file-$1 :webdav:$URL/file-$1",
        download=f"{_WEBDAV} --multi-thread-streams $STREAMS --multi-thread-cutoff 1M"
        " copyto :webdav:$URL/file-$1 target/file-$1",
        size=f"{_WEBDAV} lsf --format s :webdav:$URL/file-$1",
        begin=f"{_WEBDAV} mkdir :webdav:$URL",
        remove=f"{_WEBDAV} purge :webdav:$URL || true",
        login='RCLONE_WEBDAV_PASS=$(printf %s "$PASSWORD" | rclone --config "" obscure -)\n'
        'export RCLONE_WEBDAV_USER="$LOGIN" RCLONE_WEBDAV_PASS\n',
        slash=False,
        port=80,
    ),
    "nfs": TransferProtocol(
        NFS_CP,
        "nfs://{address}{folder}",
        upload=f'nfs-cp source/file-$1 "$URL.file-$1{_NFS}',
        download=f'nfs-cp "$URL.file-$1{_NFS} target/file-$1',
        size=f'nfs-ls "${{URL%/*}}{_NFS} | awk -v name="${{URL##*/}}.file-$1" \'$NF == name {{ print $5 }}\'',
        port=2049,
    ),
    "scp": TransferProtocol(
        SCP,
        "{address}:{folder}",
        upload=f"scp -q {_SSH} -P $PORT source/file-$1 $URL/file-$1",
        download=f"scp -q {_SSH} -P $PORT $URL/file-$1 target/file-$1",
        size=f"ssh {_SSH} -p $PORT $ADDRESS stat -c %s $FOLDER/file-$1",
        begin=f"ssh {_SSH} -p $PORT $ADDRESS mkdir -p $FOLDER",
        remove=f"ssh {_SSH} -p $PORT $ADDRESS rm -rf $FOLDER || true",
        slash=None,
        port=22,
    ),
}
