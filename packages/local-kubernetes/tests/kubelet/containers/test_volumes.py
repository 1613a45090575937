from pathlib import Path

import pytest

from local_kubernetes.kubelet.containers.volumes import make_credentials
from local_kubernetes.kubelet.node.access import ApiAccess


@pytest.mark.parametrize("name", ["token", "ca.crt", "namespace"])
def test_credentials_that_a_pod_has_changed_are_restored_for_the_next_one(tmp_path: Path, name: str) -> None:
    authority = tmp_path / "authority"
    authority.write_text("certificate")
    access, folder = ApiAccess("https://127.0.0.1:1", authority, "secret"), tmp_path / "jobs"
    for change in (folder.mkdir, lambda: (folder / name).unlink(), lambda: (folder / name).write_text("other")):
        change()
        make_credentials(folder, access, "jobs")
        files = {file.name: file.read_text() for file in folder.iterdir()}
        assert files == {"token": "secret", "ca.crt": "certificate", "namespace": "jobs"}
