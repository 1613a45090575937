import pytest

from local_kubernetes.kubelet.node.images import (
    ImageMissing,
    ImageRule,
    InvalidImage,
    find_runtime,
    parse_rule,
    uses_assigned_ports,
)
from local_kubernetes.kubelet.node.runtime import HOST, HostRuntime


@pytest.mark.parametrize(
    "image", ["local/process:latest", "busybox", "docker.io/library/python:3.13", "alpine@sha256:0"]
)
def test_images_of_common_tools_run_commands_with_the_programs_of_the_machine(image: str) -> None:
    assert find_runtime(image) is HOST


@pytest.mark.parametrize("image", ["nginx", "example/pythons:1", "process"])
def test_other_images_have_no_runtime(image: str) -> None:
    with pytest.raises(ImageMissing, match="no runtime for the image"):
        find_runtime(image)


@pytest.mark.parametrize(
    "image",
    ["", "None", "Not An Image", "tool:", "tool@sha256", "../tool", "tool/../x", "tool:a b", "a." * 1_000_000],
    ids=lambda image: image[:20],
)
def test_invalid_image_reference_is_rejected(image: str) -> None:
    with pytest.raises(InvalidImage, match="couldn't parse image name"):
        find_runtime(image)


def test_the_first_rule_that_matches_decides() -> None:
    first, second = HostRuntime(), HostRuntime()
    rules = (ImageRule("team/tool", first), ImageRule("*/tool", second))

    assert find_runtime("team/tool:1", rules) is first
    assert find_runtime("other/tool:1", rules) is second


def test_a_rule_names_one_of_the_runtimes() -> None:
    assert parse_rule("*/tool=process") == ImageRule("*/tool", HOST)
    with pytest.raises(ValueError, match="one of the runtimes process"):
        parse_rule("*/tool=docker")


@pytest.mark.parametrize("image", ["busybox", "unknown", "Not An Image"])
def test_ports_are_assigned_only_where_a_runtime_asks_for_them(image: str) -> None:
    assert not uses_assigned_ports({"name": "main", "image": image}, (ImageRule("busybox", HOST),))
