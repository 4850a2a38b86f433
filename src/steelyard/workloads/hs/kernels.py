"""The compute kernels of `hs`: how each is run for a time on one core, and what its tool prints.

Every rate is per second of elapsed time, so that a core which is shared with others shows as a slower one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.plugin import NothingMeasured, ParseFailure, Tool

SYSBENCH = Tool("sysbench", apt="sysbench", dnf="sysbench")
STRESS_NG = Tool("stress-ng", apt="stress-ng", dnf="stress-ng")
OPENSSL = Tool("openssl", apt="openssl", dnf="openssl", version=("version",))
SEVEN_ZIP = Tool("7z", apt="p7zip-full", dnf="p7zip-plugins", version=("i",))


@dataclass(frozen=True, slots=True)
class ComputeKernel:
    """`about` says what it works on; `argv` is its command, with SECONDS where the time belongs; `pattern`
    finds its rate in what is printed; `unit` says of what the rate is."""

    name: str
    about: str
    tool: Tool
    argv: str
    pattern: str
    unit: str

    def line(self, seconds: int) -> str:
        """A line for sh: the output goes to $OUT/<name>.txt, and is shown when the kernel fails."""
        command = shlex.join(self.argv.replace("SECONDS", str(seconds)).split())
        file = f'"$OUT/{self.name}.txt"'
        return f"{command} > {file} 2>&1 || {{ cat {file} >&2; exit 1; }}"

    def rate(self, text: str) -> float:
        """The kernel's rate from what was printed. Raises ParseFailure."""
        matches = re.findall(self.pattern, text, re.MULTILINE)
        if len(matches) == 1 and not float(matches[0]):
            raise NothingMeasured(f"kernel {self.name} completed nothing")
        if len(matches) != 1 or not float(matches[0]) < 1e18:
            raise ParseFailure(
                f"kernel {self.name}: {self.tool.name} reported no rate: {text.strip()[-60:]!r}"
            )
        return float(matches[0])


def _stress_kernel(method: str, about: str) -> ComputeKernel:
    argv = f"stress-ng --cpu 1 --cpu-method {method} --timeout SECONDSs --metrics-brief --temp-path ."
    # Operations, their real, user and system time; then operations per second of real time.
    pattern = r"\] cpu +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+) +[\d.]+"
    return ComputeKernel(method, about, STRESS_NG, argv, pattern, "bogo operations")


def _openssl_kernel(name: str, about: str, arguments: str, pattern: str, unit: str) -> ComputeKernel:
    return ComputeKernel(
        name, about, OPENSSL, f"openssl speed -elapsed -mr -seconds SECONDS {arguments}", pattern, unit
    )


_SYSBENCH = "sysbench cpu --cpu-max-prime=10000 --threads=1 --time=SECONDS --events=0 run"
_ALL = (
    ComputeKernel(
        "primes", "integer division", SYSBENCH, _SYSBENCH, r"^ *events per second: +([\d.]+)$", "events"
    ),
    _stress_kernel("matrixprod", "products of matrices of long doubles"),
    _stress_kernel("fft", "fast Fourier transforms of doubles"),
    _stress_kernel("correlate", "correlation of doubles"),
    _stress_kernel("queens", "a search: integers and branches"),
    _openssl_kernel(
        "sha512", "64-bit integer logic", "-bytes 16384 sha512", r"^\+F:\d+:sha512:([\d.]+)$", "bytes"
    ),
    _openssl_kernel(
        "rsa2048", "products of large integers", "rsa2048", r"^\+F2:\d+:2048:([\d.]+):[\d.]+$", "signatures"
    ),
    ComputeKernel(
        "lzma",
        "compression and decompression: tables, branches",
        SEVEN_ZIP,
        "7z b -mmt1 -md18 1",
        r"^Tot:.* (\d+)$",
        "million instructions, as counted by 7-Zip",
    ),
)
KERNELS: Mapping[str, ComputeKernel] = {kernel.name: kernel for kernel in _ALL}
