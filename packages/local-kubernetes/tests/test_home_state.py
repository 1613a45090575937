"""The state of a home directory, as another process sees it."""

import os
from pathlib import Path

import pytest

from local_kubernetes.home import LocalClusterError, UnusableHome, lock_home
from local_kubernetes.home_state import HomeState, read_home, remove_home


def test_home_of_a_running_cluster_has_its_process(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert read_home(home) == HomeState(home)
    with lock_home(home):
        assert read_home(home) == HomeState(home, exists=True, is_running=True, process=os.getpid())
    assert read_home(home) == HomeState(home, exists=True)


def test_home_of_a_killed_cluster_is_not_running(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("4711\n")
    assert read_home(tmp_path) == HomeState(tmp_path, exists=True)


def test_removal_deletes_the_state_of_a_stopped_cluster(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with lock_home(home):
        (home / "logs" / "default_pi_1").mkdir(parents=True)
        for name in (
            "journal",
            "journal-wal",
            "journal.new",
            "journal.new-wal",
            "journal.damaged-1",
            "journal.damaged-1-wal",
        ):
            (home / name).touch()
    assert remove_home(home)
    assert not home.exists()
    assert not remove_home(home)


def test_removal_refuses_a_running_cluster(tmp_path: Path) -> None:
    with lock_home(tmp_path):
        with pytest.raises(LocalClusterError, match=rf"a local cluster runs in .* \(process {os.getpid()}\)"):
            remove_home(tmp_path)
        assert (tmp_path / "lock").exists()


def test_removal_of_a_link_deletes_the_content_only(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with lock_home(tmp_path / "link"):
        pass
    assert remove_home(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert list((tmp_path / "real").iterdir()) == []


@pytest.mark.parametrize("content", [None, "a lock of another program"])
def test_folder_of_the_user_is_refused(tmp_path: Path, content: str | None) -> None:
    (tmp_path / "journal").touch()
    if content is not None:
        (tmp_path / "lock").write_text(content)
    for action in (read_home, remove_home):
        with pytest.raises(UnusableHome, match="was not created by a local cluster"):
            action(tmp_path)
    assert (tmp_path / "journal").exists()


def test_file_of_the_user_in_the_home_is_not_deleted(tmp_path: Path) -> None:
    with lock_home(tmp_path):
        (tmp_path / "logs").mkdir()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UnusableHome, match=r"contains files that no local cluster creates: notes\.txt"):
        remove_home(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lock", "logs", "notes.txt"]
