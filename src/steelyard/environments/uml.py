"""User-mode Linux."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from steelyard.environments.kit.skeleton import IS_WHOLE, OWN, list_arguments, write_loop
from steelyard.plugin.environment import Environment, Inside, Tool

_MEMORY = 1 << 30  # bytes; pages that the guest never touches take none of the host's

# What the guest runs first, with the host's own files as its root: it makes the root that the program sees,
# leaves the host's behind, and runs the program. What the program prints goes through serial lines, which
# lose and change nothing, so that it is read while the guest runs.
_ADD = """{
        if [ -L "$found" ]; then cp -P "$found" "$root$name"
        else
            if [ -d "$found" ]; then mkdir "$root$name"; else : > "$root$name"; fi
            mount --bind "$found" "$root$name"
        fi
    }"""
_INIT = f"""\
#!/bin/sh
bundle=${{0%/*}} root=${{0%/*}}/root
prepare() {{ # IMAGE LEFT-OUT COUNT OPENED...
    {IS_WHOLE}
    if [ "$whole" ]; then mount -t hostfs -o "ro,$1" none "$root"
    else
        mount -t tmpfs none "$root"
        for place in $2; do mkdir -p "$root$place"; done
        unset IFS
        {write_loop(_ADD)}
    fi
}}
add() {{
    mkdir -p "$root$1" && mount -t hostfs -o "$1" none "$root$1"
}}
mount -t proc none /proc
. "$bundle/places"
stty raw -echo < /dev/ttyS0
stty raw -echo < /dev/ttyS1
prepare_root
mount -t proc none "$root/proc"
mount -t sysfs none "$root/sys"
mount --bind /dev "$root/dev"
mkdir /dev/shm /dev/pts
mount -t tmpfs none "$root/dev/shm"
mount -t devpts none "$root/dev/pts"
ln -s /proc/self/fd /dev/fd
for stream in 0:stdin 1:stdout 2:stderr; do ln -s "fd/${{stream%:*}}" "/dev/${{stream#*:}}"; done
mount -t tmpfs none "$root/tmp"
add_mounts
cd "$root" && mount --no-mtab --move . / && exec chroot . /bin/sh -c "$last_steps" sh "$bundle"
"""
# From here on the programs are the image's. Nothing comes after the power is off.
_LAST_STEPS = """\
/bin/sh "$1/command" < "$1/input" > /dev/ttyS0 2> /dev/ttyS1
echo $? > "$1/code"
echo o > /proc/sysrq-trigger
while :; do :; done
"""
_SCRIPT = """\
place=$1 memory=$2 init=$3 places=$4 command=$5
umask 077
unset TMPDIR TMP TEMP # the memory of the guest would be a file there; without them it is in /dev/shm
bundle=$(mktemp -d "$place/.guest-XXXXXX") && mkdir "$bundle/root" || exit 125
printf %s "$init" > "$bundle/init" && chmod 700 "$bundle/init"
printf %s "$places" > "$bundle/places"
{ export -p; printf %s "$command"; } > "$bundle/command"
cat > "$bundle/input"
linux.uml "mem=$memory" root=/dev/root rootfstype=hostfs rootflags=/ ro quiet "init=\\"$bundle/init\\"" \\
    con=null con0=null,fd:1 ssl=null ssl0=null,fd:3 ssl1=null,fd:4 "uml_dir=$bundle/" \\
    3>&1 4>&2 > "$bundle/console" 2>&1 < /dev/null
read -r code < "$bundle/code" || {
    echo "the guest ended early:"
    sed "/^Kernel panic/q" "$bundle/console" | tail -n 5
} >&2
rm -rf --one-file-system "$bundle"
exit "${code:-125}"
"""


class Uml(Environment):
    """Guests of User-mode Linux: a Linux kernel of its own that runs as a program of its host, without KVM.

    The program has a kernel, one core, 1 GiB of memory or what `memory` allows, and no network; it sees an
    image that it cannot change, a /tmp of its own, and its scratch. A guest takes about two seconds to boot.
    It computes at its host's speed, but each system call takes 100 times as long. It does not protect its
    host from the program. Source: The kernel development community, UML HowTo (Linux 6.1,
    Documentation/virt/uml).
    """

    images = frozenset({"directory", "host"})
    needs = (Tool("linux.uml", apt="user-mode-linux"),)
    most_cores = 1
    has_network = False
    covers = ("S6.BoUC.11",)
    caveat = (
        "this guest is a program of its host, in which a system call takes 100 times as long; ratios say "
        "nothing about virtual machines on hardware"
    )

    def words(self, argv: tuple[str, ...], inside: Inside, variables: list[str]) -> Iterator[str]:
        """All that the guest must know is written to the first of the mounts."""
        memory = str(int(inside.limits.memory or _MEMORY))
        root = shlex.join(("prepare", *list_arguments(inside.image or "/", inside.mounts, *OWN)))
        mounts = "\n".join(shlex.join(("add", path)) for path in inside.mounts)
        functions = f"prepare_root() {{ {root}; }}\nadd_mounts() {{ {mounts}; }}\n"
        places = f"last_steps={shlex.quote(_LAST_STEPS)}\n{functions}"
        program = f"cd {shlex.quote(inside.at)} && exec {shlex.join(argv)}\n"
        yield from ("sh", "-c", _SCRIPT, "sh", inside.mounts[0], memory, _INIT, places, program)
