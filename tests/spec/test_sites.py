"""From a site's name to the site: plug-ins, shorthands, and the two files."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import SpecError, UnknownName, UsageError
from steelyard.sites.local import Local
from steelyard.spec.sites import resolve, site_names


@pytest.fixture
def home(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own file of sites."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own_place / "config"))
    path = own_place / "config" / "steelyard" / "sites.yaml"
    path.parent.mkdir(parents=True)
    return path


def hosts(text: str) -> int:
    site = resolve(text).site
    assert isinstance(site, Local)
    return site.options.hosts


def test_a_plug_in_by_its_name_and_with_its_shorthand(home: Path) -> None:
    assert (hosts("local"), hosts("local:4")) == (1, 4)
    assert resolve("local:4").name == "local:4"


def test_a_file_names_sites_and_the_projects_wins_over_the_users(home: Path) -> None:
    home.write_text("laptop: {use: local, hosts: 2}\nbench: {use: local, hosts: 3}\n")
    Path("sites.yaml").write_text("bench: {use: local, hosts: 5}\n")
    assert (hosts("laptop"), hosts("bench"), hosts("bench:7")) == (2, 5, 7)
    assert {"laptop", "bench", "local"} <= set(site_names())


def test_an_entry_may_set_the_defaults_of_a_plug_in(home: Path) -> None:
    home.write_text("local: {hosts: 6}\n")
    assert hosts("local") == 6


def test_wrong_options_are_told_with_their_place_all_at_once(home: Path) -> None:
    Path("sites.yaml").write_text("bench:\n  use: local\n  host: 5\n  hosts: 0\n")
    with pytest.raises(SpecError) as caught:
        resolve("bench")
    assert [str(problem) for problem in caught.value.problems] == [
        "sites.yaml:3:3  unknown key 'host'; did you mean 'hosts'?",
        "sites.yaml:4:10  hosts: 0 is less than 1",
    ]


def test_the_projects_file_may_not_redefine_a_site_of_ours(home: Path) -> None:
    """`--site slurm` must not mean what a directory that one happens to be in says."""
    Path("sites.yaml").write_text("bench: {use: local}\nslurm: {use: ssh, hosts: [x]}\nlocal: {hosts: 9}\n")
    with pytest.raises(SpecError) as caught:
        resolve("bench")
    assert [str(problem).partition("; ")[0] for problem in caught.value.problems] == [
        "sites.yaml:2:1  site 'slurm' is built in",
        "sites.yaml:3:1  site 'local' is built in",
    ]


def test_a_file_here_that_others_may_write_to_is_not_used(home: Path) -> None:
    Path("sites.yaml").write_text("bench: {use: local}\n")
    Path("sites.yaml").chmod(0o666)
    with pytest.raises(UsageError, match=r"the sites file sites.yaml .* others may write") as told:
        resolve("bench")
    assert "steelyard trust" in told.value.hint
    assert hosts("local") == 1, "which needs no file"


@pytest.mark.parametrize(
    ("text", "says"),
    [("local:many", "a number of hosts, as in local:4"), ("local:0", "hosts"), ("local:4000", "hosts")],
)
def test_a_wrong_shorthand_is_told(home: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        resolve(text)


def test_an_unknown_site_is_told_with_what_there_is(home: Path) -> None:
    home.write_text("cluster: {use: local}\nodd: {use: lokal}\n")
    with pytest.raises(UnknownName, match="did you mean 'cluster'"):
        resolve("clutser:4")
    with pytest.raises(UnknownName, match="did you mean 'local'"):
        resolve("odd")


def test_a_file_is_read_as_far_as_one_can_be_large(home: Path) -> None:
    with home.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="the file is larger than 128 KiB"):
        resolve("lab")


def test_a_file_that_cannot_be_read_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write_text("lab: {use: local}\n")

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(UsageError, match=r"cannot read .*sites\.yaml: Permission denied"):
        resolve("lab")


@pytest.mark.parametrize("text", ["[1, 2]", "lab: 5", "lab: {use: local", "lab: !!python/name:os.system x"])
def test_a_file_that_is_none_is_told(home: Path, text: str) -> None:
    home.write_text(text + "\n")
    with pytest.raises(UsageError):
        resolve("lab")


def test_namespaces_may_be_given_a_link(home: Path) -> None:
    site = resolve("netns:2:100MB/s").site
    assert (site.options.hosts, site.options.rate) == (2, 100e6)
    with pytest.raises(SpecError, match="rate"):
        resolve("netns:2:fast")
