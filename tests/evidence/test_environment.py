from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.collectors.telemetry import FILES
from steelyard.controller.machine.advice import assess_environment
from steelyard.evidence.disturbance import THOROUGH
from steelyard.evidence.environment import EnvironmentEvidence, commands, variables
from steelyard.evidence.mounts import find_file_system
from steelyard.model.tool import Tool

CPU = "/sys/devices/system/cpu"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
parse = EnvironmentEvidence().parse
PATHS = sorted(
    {path.replace("*", "x") for path in EnvironmentEvidence.files} | {"git commit", "version of x"}
)

# Gathers everything about the machine it runs on, as a run does.
GATHER = """
import json, os, subprocess, sys
from pathlib import Path
from steelyard.evidence.environment import EnvironmentEvidence, commands, variables
from steelyard.model.tool import Tool
raw = {}
for pattern in EnvironmentEvidence.files:
    for path in Path("/").glob(pattern.removeprefix("/")):
        try:
            raw[str(path)] = path.read_bytes().decode(errors="replace")
        except OSError:
            pass
for name, argv in commands([Tool("sh", version=("-c", "echo sh 1.0"))], sys.argv[1]).items():
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        raw[name] = done.stdout
print(json.dumps({**EnvironmentEvidence().parse(raw), "variables": variables(os.environ)}, allow_nan=False))
"""


@pytest.fixture(scope="module")
def found(recorded: Callable[[str], Any]) -> dict[str, Any]:
    return parse(recorded("environment"))


def test_a_recorded_machine(found: dict[str, Any]) -> None:
    assert found["cpu"]["model"] == "AMD EPYC"
    assert (found["cpu"]["sockets"], found["cpu"]["cores"], found["cpu"]["threads"]) == (1, 2, 2)
    assert found["cpu"]["allowed"] == "0-1"
    assert {"avx512f", "aes"} < set(found["cpu"]["flags"])
    assert found["cpu"]["caches"][-1] == {
        "level": 3,
        "type": "Unified",
        "bytes": 32 << 20,
        "shared_by": "0-1",
    }
    assert found["cpu"]["mitigations"]["meltdown"] == "Not affected"
    assert found["cpu"]["nodes"] == {"0": "0-1"}
    assert found["memory"]["total"] == 24684092 * 1024
    assert found["memory"]["transparent_huge_pages"] == "madvise"
    assert found["kernel"]["clock_source"] == "tsc"
    assert found["system"]["pretty_name"] == "Debian GNU/Linux 12 (bookworm)"
    assert found["virtual"] == {"machine": "unnamed hypervisor", "container": "docker"}
    assert list(found["block_devices"]) == ["vda"]
    assert found["block_devices"]["vda"]["bytes"] == 256 << 30
    assert found["block_devices"]["vda"]["scheduler"] == "mq-deadline"
    assert "limits" not in found
    assert [mount["type"] for mount in found["mounts"]] == ["tmpfs", "ext4", "tmpfs", "tmpfs"]
    assert "unreadable" not in found


def test_this_machine(read: Callable[..., dict[str, str]]) -> None:
    found = parse(read(EnvironmentEvidence.files))
    assert "unreadable" not in found
    assert found["cpu"]["threads"] == os.cpu_count()
    assert found["kernel"]["release"] == os.uname().release
    assert json.loads(json.dumps(found, allow_nan=False)) == {
        **found, "mounts": [{**mount, "options": list(mount["options"])} for mount in found["mounts"]]
    }  # fmt: skip


def test_no_secret_of_the_environment_is_recorded(tmp_path: Path) -> None:
    secret = "zx81spectrum"
    names = ["AWS_SECRET_ACCESS_KEY", "OMP_NUM_THREADS", "LD_LIBRARY_PATH", "GLIBC_TUNABLES_X", "HARMLESS"]
    planted = dict.fromkeys(names, f"/{secret}")
    done = subprocess.run(
        [sys.executable, "-c", GATHER, str(tmp_path)],
        env={**os.environ, **planted}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert secret not in done.stdout
    assert {"OMP_NUM_THREADS", "LD_LIBRARY_PATH"} <= set(found["variables"])
    assert not {"AWS_SECRET_ACCESS_KEY", "HARMLESS"} & set(found["variables"])
    assert found["tools"] == {"sh": "sh 1.0"}


@pytest.mark.parametrize("path", [*EnvironmentEvidence.files, *FILES, *THOROUGH])
def test_no_collector_asks_for_an_environment_or_a_command_line(path: str) -> None:
    assert "environ" not in path
    assert path == "/proc/cmdline" or "cmdline" not in path


def test_only_names_of_known_variables() -> None:
    assert variables({"OMP_NUM_THREADS": "4", "LD_PRELOAD": "", "HOME": "/", "XOMP_NUM_THREADSX": "1"}) == [
        "LD_PRELOAD",
        "OMP_NUM_THREADS",
    ]


def test_secrets_of_the_kernel_command_line_and_of_mounts() -> None:
    line = (
        'root=/dev/vda rw ds=nocloud;s=http://me:hunter2@seed/ api_token=hunter2 luks.key="hunter2 hunter2"'
    )
    mount = (
        "40 1 0:40 / /data rw - fuse.s3fs //me:hunter2@host/b?signature=hunter2 rw,passwd=hunter2,hunter2,x"
    )
    cifs = "41 1 0:41 / /c rw - cifs //srv/share rw,username=me,password=hunter2,uid=0"
    found = parse({"/proc/cmdline": line, "/proc/self/mountinfo": f"{mount}\n{cifs}\n"})
    assert "hunter2" not in json.dumps(found)
    assert "root=/dev/vda rw" in found["kernel"]["command_line"]
    assert [mount["options"] for mount in found["mounts"]] == [
        ("rw", "passwd=***"),
        ("rw", "username=me", "password=***"),
    ]


def test_the_first_line_of_a_version_and_nothing_secret_in_it() -> None:
    raw = {"version of fio": "fio-3.33\nmore\n", "version of x": "", "version of y": "y 1 --token abc"}
    assert parse(raw)["tools"] == {"fio": "fio-3.33", "y": "y 1 --token ***"}


def test_the_commands_for_tools_and_git() -> None:
    found = commands([Tool("java", version=("-version",))], "/some/folder")
    assert found["version of java"] == ("java", "-version")
    assert found["git commit"][-2:] == ("rev-parse", "HEAD")
    assert {"/some/folder", "core.fsmonitor=false"} < set(found["git status"])
    assert commands([]) == {}


@pytest.mark.parametrize("said", ["", "fatal: not a git repository", "deadbeef", f"x{COMMIT}"])
def test_no_commit_is_no_commit(said: str) -> None:
    assert "experiment" not in parse({"git commit": said, "git status": " M x"})


@pytest.fixture
def repository(tmp_path: Path) -> Callable[..., str]:
    """A real repository; call it to run git in it."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x", *words],
            env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"},
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    git("init", "-q")
    (tmp_path / "experiment.yaml").write_text("experiment: x\n")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    return git


def state(folder: Path) -> dict[str, Any]:
    raw = {}
    for name, argv in commands([], folder).items():
        raw[name] = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return dict(parse(raw)["experiment"])


def test_the_commit_of_a_real_folder_and_whether_it_was_changed(
    tmp_path: Path, repository: Callable[..., str]
) -> None:
    repository("remote", "add", "origin", "https://me:hunter2@host/x.git")
    commit = repository("rev-parse", "HEAD").strip()
    (tmp_path / "results").write_text("not tracked")
    assert state(tmp_path) == {"commit": commit, "dirty": False}
    (tmp_path / "experiment.yaml").write_text("experiment: y\n")
    assert state(tmp_path) == {"commit": commit, "dirty": True}


def test_git_runs_nothing_that_the_folder_names(tmp_path: Path, repository: Callable[..., str]) -> None:
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    hook.chmod(0o755)
    repository("config", "core.fsmonitor", str(hook))
    state(tmp_path)
    assert not (tmp_path / "was-run").exists()


def test_a_frequency_policy() -> None:
    # Written after Documentation/admin-guide/pm/cpufreq.rst: two policies of an Intel laptop.
    policy = f"{CPU}/cpufreq/policy"
    raw = {
        f"{policy}0/scaling_driver": "intel_pstate\n", f"{policy}0/scaling_governor": "powersave\n",
        f"{policy}0/scaling_min_freq": "400000\n", f"{policy}0/scaling_max_freq": "4700000\n",
        f"{policy}1/scaling_governor": "powersave\n", f"{policy}1/scaling_max_freq": "<unknown>\n",
        f"{CPU}/intel_pstate/no_turbo": "0\n",
    }  # fmt: skip
    assert parse(raw)["frequency"] == {
        "driver": "intel_pstate", "governors": {"powersave": 2},
        "minimum": 400e6, "maximum": 4.7e9, "turbo": True,
    }  # fmt: skip


def test_a_processor_without_a_name() -> None:
    text = (
        "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\nprocessor\t: 1\n"
    )
    found = parse({"/proc/cpuinfo": text})["cpu"]
    assert found == {"model": "implementer 0x41 part 0xd0c", "threads": 2, "flags": ["fp", "asimd"]}


@pytest.mark.parametrize(
    ("raw", "cores"),
    [
        ({"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/cpu.max": "150000 100000\n"}, 1.5),
        ({"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/b/cpu.max": "150000 100000\n"}, None),
        ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "50000 100000\n"}, 0.5),
        (
            {
                "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        (
            {
                "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
                "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            2.0,
        ),
        ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "1 0\n"}, None),
    ],
)
def test_cpu_quotas(raw: dict[str, str], cores: float | None) -> None:
    assert parse(raw).get("limits", {}).get("cpu") == cores


@pytest.mark.parametrize(
    ("raw", "virtual"),
    [
        ({"/run/systemd/container": "lxc\n"}, {"container": "lxc"}),
        ({"/run/.containerenv": ""}, {"container": "podman"}),
        ({"/proc/self/cgroup": "0::/kubepods.slice/x\n"}, {"container": "kubepods"}),
        ({"/sys/class/dmi/id/product_name": "KVM Virtual Machine\n"}, {"machine": "KVM Virtual Machine"}),
        ({"/sys/class/dmi/id/product_name": "m5.metal\n", "/proc/cpuinfo": "flags\t: fpu\n"}, None),
        (
            {"/sys/class/dmi/id/product_name": "m5.large\n", "/proc/cpuinfo": "flags : hypervisor\n"},
            {"machine": "m5.large"},
        ),
    ],
)
def test_virtual_machines_and_containers(raw: dict[str, str], virtual: dict[str, str] | None) -> None:
    assert parse(raw).get("virtual") == virtual


def test_nothing_known_is_said_of_nothing() -> None:
    assert set(parse({})) == {"controller"}


@given(
    st.dictionaries(
        st.sampled_from(PATHS), st.text() | st.sampled_from(["nan", "9" * 5000, "-1 inf", "a:b\n:\n"])
    )
)
def test_no_text_is_too_odd(raw: dict[str, str]) -> None:
    json.dumps(parse(raw), allow_nan=False)


def test_advice_on_a_recorded_machine(recorded: Callable[[str], Any]) -> None:
    raw = recorded("environment")
    scratch = find_file_system("/home/x", raw["/proc/self/mountinfo"])
    found = [item.what for item in assess_environment(EnvironmentEvidence().parse(raw), scratch)]
    assert "this is a virtual machine (unnamed hypervisor)" in found
    assert not any("scratch" in what for what in found)
