"""What a cluster of Ceph is to be: its options, its daemons, its files. Nothing runs."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.errors import HostError
from steelyard.services.ceph.conf import CephCluster, CephHostFiles, ceph_conf, storage_memory
from steelyard.services.ceph.daemons import CephDaemon, count_ports, plan_daemons
from steelyard.services.ceph.gateway import access_key, account, secret_key
from steelyard.services.ceph.keys import keyring, make_key
from steelyard.services.ceph.options import CephOptions
from steelyard.services.ceph.pools import choose_domain, data_pool, file_layout, list_pool_commands
from steelyard.services.ceph.status import CephStatus, parse_status

MIB = 2**20
THREE = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
PASSWORD = "0f" * 16


def plan(at: int, addresses: tuple[str, ...] = THREE, **options: Any) -> tuple[CephDaemon, ...]:
    chosen = CephOptions(**options)
    return plan_daemons(chosen, addresses, range(20_000, 20_000 + count_ports(chosen)), at)


def conf_of(at: int, memory: int = 4096 * MIB, **options: Any) -> dict[str, str]:
    """The file of a host, by section and name."""
    daemons = plan(at, **options)
    chosen = CephOptions(**options)
    cluster = CephCluster("an-fsid", (plan(0, **options)[0],), "host", 3, chosen.tls or False)
    files = CephHostFiles(PurePosixPath("/s/conf"), PurePosixPath("/s/data"))
    section, values = "", {}
    for line in ceph_conf(cluster, chosen, ("n1", THREE[at]), daemons, files, memory).splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        else:
            name, _, value = line.partition(" = ")
            values[f"{section} {name}"] = value
    return values


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"pool": "both"}, "'replicated' or 'erasure'"),
        ({"pg_num": 12}, "pg_num: 12 is not a power of two"),
        ({"size": 2, "min_size": 3}, "min_size: 3 is not from 1 to 2"),
        ({"pool": "erasure", "min_size": 1}, "min_size: 1 is not from 2 to 3"),
        ({"osd_size": "512MiB"}, "osd_size: 512MiB is less than 1 GiB"),
        ({"object_size": "1MiB"}, "object_size: only `face: cephfs` divides files"),
        ({"gateways": 2}, "gateways: only `face: s3` and `face: swift` have gateways"),
        ({"face": "cephfs", "object_size": "100KiB"}, "object_size: 102400 is not a multiple of 64 KiB"),
        ({"face": "cephfs", "stripe_unit": "3MiB"}, "stripe_unit: 3145728 is not a multiple of 64 KiB"),
        ({"settings": {"fsid": "x"}}, "'fsid' is set by the service itself"),
        ({"settings": {"auth_client_required": "none"}}, "set by the service itself"),
        ({"settings": {"ms_service_mode": "crc"}}, "set by the service itself"),
        ({"settings": {"osd x": 1}}, "'osd x' is not a setting"),
        ({"settings": {"osd_op_threads": "1\n[mon]"}}, "is not a single text or number"),
        ({"settings": {"osd_op_threads": [1]}}, "is not a single text or number"),
    ],
)
def test_wrong_options_are_refused_with_a_reason(options, says):
    with pytest.raises(ValidationError) as failure:
        CephOptions(**options)
    assert says in str(failure.value)


def test_monitors_are_on_the_first_hosts_and_storage_is_on_all():
    kinds = [[daemon.entity for daemon in plan(at, osds=2)] for at in range(3)]
    assert kinds == [
        ["mon.a", "mgr.a", "osd.0", "osd.1"],
        ["mon.b", "mgr.b", "osd.2", "osd.3"],
        ["mon.c", "osd.4", "osd.5"],
    ]
    assert [daemon.entity for daemon in plan(1, THREE[:2])] == ["osd.1"], (
        "two monitors are no better than one"
    )
    assert [daemon.entity for daemon in plan(1, face="cephfs")] == ["mon.b", "mgr.b", "osd.1", "mds.b"]
    assert [daemon.entity for daemon in plan(1, face="s3")] == ["mon.b", "mgr.b", "osd.1"]
    assert plan(1, face="s3", gateways=2)[-1].entity == "client.rgw.1"


def test_no_two_daemons_of_a_host_share_a_port():
    ranges = [set(range(one.ports[0], one.ports[1] + 1)) for one in plan(0, face="cephfs", osds=3)]
    assert sum(map(len, ranges)) == len(set().union(*ranges))
    assert {len(ports) for ports in ranges} == {1, 4}


def test_daemons_are_bound_to_their_host_and_to_cephx_and_write_to_the_scratch_alone():
    values = conf_of(0)
    assert values["global public_addr"] == values["global cluster_addr"] == THREE[0]
    assert {values[f"global auth_{part}_required"] for part in ("cluster", "service", "client")} == {"cephx"}
    assert values["global ms_bind_msgr1"] == "false"
    assert values["global mon_host"] == "[v2:10.0.0.1:20000]"
    assert values["mon.a keyring"] == "/s/conf/keyring.mon"
    assert values["osd.0 crush_location"] == "root=default host=n1"
    paths = [value for value in values.values() if value.startswith("/")]
    assert all(path.startswith("/s/") for path in paths)
    assert not values["global admin_socket"] + values["global log_file"]


def test_messages_are_encrypted_everywhere_or_where_somebody_wants_it():
    names = ("cluster", "service", "client", "mon_cluster", "mon_service", "mon_client")
    assert {conf_of(0, tls=True)[f"global ms_{name}_mode"] for name in names} == {"secure"}
    assert {conf_of(0)[f"global ms_{name}_mode"] for name in names} == {"crc secure"}
    assert conf_of(0, face="s3")["client.rgw.0 rgw_frontends"] == "beast endpoint=10.0.0.1:20003"
    encrypted = conf_of(0, face="s3", tls=True)["client.rgw.0 rgw_frontends"]
    assert encrypted == "beast ssl_endpoint=10.0.0.1:20003 ssl_certificate=/s/conf/identity.pem"


def test_settings_of_the_user_come_last():
    assert conf_of(0, settings={"osd_pool_default_pg_num": 16})["global osd_pool_default_pg_num"] == "16"


def test_caches_follow_from_the_memory_of_the_host():
    small, large = conf_of(0, 1024 * MIB), conf_of(0, 8192 * MIB)
    assert small["global bluestore_cache_autotune"] == "false"
    assert 0 < int(small["global bluestore_cache_size"]) < 1024 * MIB
    assert 4096 * MIB < int(large["global osd_memory_target"]) < 8192 * MIB
    with pytest.raises(
        HostError, match=r"1 mon, 1 mgr, 1 osd\) need 608 MiB of memory, and its share is 500"
    ):
        storage_memory(plan(0), 500 * MIB)


def test_a_storage_daemon_is_full_before_it_has_no_space_at_all():
    assert conf_of(0, osd_size="1GiB")["global mon_osd_full_ratio"] == "0.667"
    assert conf_of(0, osd_size="4GiB")["global mon_osd_full_ratio"] == "0.875"
    assert conf_of(0, osd_size="100GiB")["global mon_osd_nearfull_ratio"] == "0.870"


def test_copies_are_on_hosts_of_their_own_as_far_as_there_are_some():
    assert choose_domain(CephOptions(), 1) == ("host", 1)
    assert choose_domain(CephOptions(), 2) == ("host", 2)
    assert choose_domain(CephOptions(), 5) == ("host", 3)
    assert choose_domain(CephOptions(osds=3), 1) == ("osd", 3)
    assert choose_domain(CephOptions(pool="erasure"), 3) == ("host", 3)
    assert choose_domain(CephOptions(pool="erasure", osds=2), 2) == ("osd", 3)
    with pytest.raises(HostError, match="size is 3, which needs 3 storage daemons; there are 2"):
        choose_domain(CephOptions(size=3), 2)
    with pytest.raises(HostError, match=r"k \+ m is 3, which needs 3 hosts; there are 2"):
        choose_domain(CephOptions(pool="erasure", osds=2, failure_domain="host"), 2)


def test_pools_are_what_the_options_say():
    (made, enabled) = list_pool_commands(CephOptions(pg_num=8), "osd")
    assert made == {"prefix": "osd pool create", "pool": "data", "pg_num": 8, "pool_type": "replicated"}
    assert enabled["app"] == "rados"
    coded = list(list_pool_commands(CephOptions(face="cephfs", pool="erasure", min_size=2), "osd"))
    assert coded[0]["profile"] == ["k=2", "m=1", "crush-failure-domain=osd"]
    assert [words.get("var") for words in coded if "var" in words] == ["min_size", "allow_ec_overwrites"]
    assert coded[-1]["prefix"] == "fs new"
    assert data_pool(CephOptions(face="s3")) == "default.rgw.buckets.data"


def test_a_stripe_divides_its_object_at_every_step():
    assert file_layout(CephOptions(face="cephfs")) == []
    steps = file_layout(CephOptions(face="cephfs", object_size="1MiB", stripe_count=4, stripe_unit="256KiB"))
    assert steps == [
        ("stripe_unit", 2**16),
        ("object_size", 2**20),
        ("stripe_count", 4),
        ("stripe_unit", 2**18),
    ]


def test_every_key_is_another_and_none_is_the_password():
    keys = {make_key(name, PASSWORD) for name in ("client.steelyard", "client.admin", "osd.0", "osd.1")}
    assert len(keys) == 4
    kind, _, _, length = struct.unpack("<HIIH", base64.b64decode(min(keys))[:12])
    assert (kind, length, len(base64.b64decode(min(keys)))) == (1, 16, 28)
    assert PASSWORD not in keyring(["client.admin"], PASSWORD, "data")


def test_clients_may_use_one_pool_and_daemons_get_no_capabilities_on_their_hosts():
    lines = keyring(["client.steelyard"], PASSWORD, "data").splitlines()
    assert '\tcaps osd = "allow rwx pool=data"' in lines
    assert '\tcaps mon = "allow r"' in lines
    assert "caps" not in keyring(["osd.0"], PASSWORD)


def test_an_account_has_a_key_for_what_its_clients_speak():
    s3, swift = (json.loads(account(face, PASSWORD))["data"] for face in ("s3", "swift"))
    assert s3["keys"][0]["access_key"] == access_key(PASSWORD)
    assert swift["swift_keys"][0] == {"user": "steelyard:swift", "secret_key": secret_key(PASSWORD)}
    assert not s3["swift_keys"] + swift["keys"]


def status(states: dict[str, int], **changes: Any) -> CephStatus:
    groups = [{"state_name": name, "count": count} for name, count in states.items()]
    said = {
        "quorum_names": ["a"],
        "mgrmap": {"available": True},
        "pgmap": {"pgs_by_state": groups, "degraded_objects": 7},
        "fsmap": {"by_rank": [{"name": "a", "status": "up:active"}], "up:standby": 1},
    }
    state = {
        "status": said,
        "osds": {"0": [1, 1, 4], "1": [1, 1, 5]},
        "pgs": 8,
        "unchanged": 9.0,
        "at": 100.0,
    }
    return parse_status(f"100.5\n{json.dumps({**state, 'loads': {'0': 5}, **changes})}")


def test_a_cluster_is_clean_when_everything_is_where_it_belongs_and_nobody_came_or_went():
    both = {"0": 0, "1": 4}
    assert status({"active+clean": 7, "active+clean+scrubbing+deep": 1}).is_clean(both)
    assert not status({"active+clean": 8}).is_clean({"0": 4, "1": 4}), "its death is not known yet"
    assert not status({"active+clean": 7}).is_clean(both), "one is not known yet"
    assert not status({"active+clean": 7, "active+undersized+degraded": 1}).is_clean(both)
    assert not status({"active+clean": 7, "active+clean+remapped": 1}).is_clean(both)
    assert not status({"active+clean": 8}, unchanged=1.0).is_clean(both), "old news"
    assert not status({"active+clean": 8}, at=10.0).is_clean(both), "the watch hears nothing"
    assert not status({"active+clean": 8}, osds={"0": [1, 1, 4], "1": [0, 1, 5]}).is_clean(both)
    assert status({"active+clean": 8}, osds={"0": [1, 1, 4], "1": [1, 0, 5]}).is_clean({"0": 0}), "one leaves"


def test_a_status_tells_who_answers_and_what_it_measures():
    said = status({"active+clean": 8})
    assert said.has_monitor("a")
    assert not said.has_monitor("b")
    assert said.has_file_system("a")
    assert said.has_file_system("b"), "it stands by"
    assert said.read_meters()["degraded_objects"] == 7
    assert said.read_meters()["live_servers"] == 2
    assert "8 placement groups to be active+clean (8 active+clean; 2 storage daemons" in said.describe()
    assert not CephStatus().is_fresh
    assert CephStatus().read_meters() == {}


@given(
    st.text()
    | st.builds(
        lambda value: f"1.5\n{json.dumps(value)}",
        st.recursive(
            st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(st.sampled_from(["status", "osds", "loads", "pgs", "at"]), inner)
            ),
        ),
    )
)
def test_whatever_stands_in_the_file_is_a_status(text):
    said = parse_status(text)
    assert isinstance(said, CephStatus)
    said.is_clean({"0": 0})
    said.describe()
    said.read_meters()
