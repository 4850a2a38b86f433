"""How the Java machine of a node is started: its heap, its cores, its flags. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from steelyard.plugin.service import HostShare

_MIB = 2**20
_LEAST, _MOST = 128 * _MIB, 8 * 1024 * _MIB
_SMALL = 1024 * _MIB  # below it, the serial collector: less memory and CPU than G1 needs for itself
# Java 17's modules that Cassandra 5.0 reaches into: its conf/jvm17-server.options, and java.nio.
_EXPORTS = (
    "java.base/jdk.internal.misc java.management.rmi/com.sun.jmx.remote.internal.rmi "
    "java.rmi/sun.rmi.registry java.rmi/sun.rmi.server java.sql/java.sql java.base/java.lang.ref "
    "java.rmi/sun.rmi.transport.tcp jdk.unsupported/sun.misc java.base/sun.nio.ch"
)
_OPENS = (
    "java.base/java.lang.module java.base/jdk.internal.loader java.base/jdk.internal.ref "
    "java.base/jdk.internal.reflect java.base/jdk.internal.math java.base/jdk.internal.module "
    "java.base/jdk.internal.util.jar jdk.management/com.sun.management.internal java.base/sun.nio.ch "
    "java.base/java.io java.base/java.lang java.base/java.lang.reflect java.base/java.net java.base/java.nio "
    "java.base/java.util java.base/java.util.concurrent java.base/java.util.concurrent.atomic"
)


def heap_size(share: HostShare) -> int:
    """Bytes: a quarter of what the service may use, as Cassandra does itself; the rest is for its caches."""
    return min(_MOST, max(_LEAST, share.memory // 4 // _MIB * _MIB))


def memory_flags(size: int, cores: int) -> list[str]:
    """Flags for a heap of so many bytes, which starts small, and for so many cores."""
    small = size < _SMALL
    return [
        f"-Xms{min(size, _LEAST) // _MIB}m",
        f"-Xmx{size // _MIB}m",
        f"-XX:MaxDirectMemorySize={max(size // 2, 64 * _MIB) // _MIB}m",
        f"-XX:ActiveProcessorCount={cores}",
        "-XX:+UseSerialGC" if small else "-XX:+UseG1GC",
        *([] if small else ["-XX:MaxGCPauseMillis=300", "-XX:+ParallelRefProcEnabled"]),
    ]


def module_flags() -> list[str]:
    """Flags that let Cassandra reach into Java."""
    exports = [f"--add-exports={name}=ALL-UNNAMED" for name in _EXPORTS.split()]
    return [*exports, *(f"--add-opens={name}=ALL-UNNAMED" for name in _OPENS.split())]


def behaviour_flags(
    address: str, conf: PurePosixPath, data: PurePosixPath, replicas: int, ring_delay: float
) -> list[str]:
    """Flags for quick starts, for reading what is in `conf`, and for writing nothing outside `data`.

    Passwords are random and long, so hashing them slowly would protect nothing. What a row takes in memory
    is measured at each start, on 10,000 of them: 100,000, the default, give the same figure and take 1.5 s
    of CPU.
    """
    copies = [f"-Dcassandra.system_{name}.default_rf={replicas}" for name in ("auth", "distributed")]
    return [
        "-ea",
        "-Xss384k",
        "-XX:+PerfDisableSharedMem",
        "-XX:+ExitOnOutOfMemoryError",
        f"-XX:ErrorFile={data}/hs_err.log",
        f"-Djava.io.tmpdir={data}",
        f"-Djna.tmpdir={data}",
        "-Djava.net.preferIPv4Stack=true",
        f"-Djava.rmi.server.hostname={address}",
        "-Djdk.attach.allowAttachSelf=true",
        "-Dio.netty.tryReflectionSetAccessible=true",
        f"-Dcassandra.config=file://{conf}/cassandra.yaml",
        f"-Dcassandra-rackdc.properties=file://{conf}/cassandra-rackdc.properties",
        f"-Dlogback.configurationFile={conf}/logback.xml",
        f"-Dcassandra.storagedir={data}",
        f"-Dcassandra.logdir={data}/logs",
        "-Dcassandra-foreground=yes",
        "-Dcassandra.shutdown_announce_in_ms=0",
        "-Dcassandra.skip_wait_for_gossip_to_settle=0",
        "-Dcassandra.auth_bcrypt_gensalt_log2_rounds=4",
        "-Dcassandra.memtable_row_overhead_computation_step=10000",
        f"-Dcassandra.ring_delay_ms={round(ring_delay * 1000)}",
        *copies,
    ]


def bootstrap_flags() -> list[str]:
    """Flags of a node that joins a ring: it knows the ring's tables before it asks for rows, or it fails."""
    return [
        "-Dcassandra.schema.update_handler_factory.class=steelyard.cassandra.SchemaFirst",
        "-Dcassandra.schema_delay_ms=120000",
    ]


def mirror_flags() -> list[str]:
    """Flags of a node of a mirror: what was streamed to it once is streamed again when it is asked for."""
    return ["-Dcassandra.reset_bootstrap_progress=true"]


def format_arguments(flags: Iterable[str]) -> str:
    """A file of arguments for `java @FILE`, a flag a line."""
    quoted = (flag.replace("\\", "\\\\").replace('"', '\\"') for flag in flags)
    return "".join(f'"{flag}"\n' for flag in quoted)
