import pytest

from local_kubernetes.kubelet.images import (
    ImageMissing,
    ImageRule,
    InvalidImage,
    Runtime,
    runtime_of,
)


@pytest.mark.parametrize(
    "image",
    [
        "spark",
        "spark:4.3.0",
        "apache/spark:4.3.0-java21-python3",
        "apache/spark-py:v3.4.0",
        "docker.io/apache/spark@sha256:0123",
        "registry.example:5000/team/spark:4.3.0",
        "cluster/spark:4.3.0",
    ],
)
def test_spark_images_are_run_by_the_installed_spark(image: str) -> None:
    assert runtime_of(image) is Runtime.SPARK


def test_one_image_runs_commands_as_they_are() -> None:
    assert runtime_of("local/process:latest") is Runtime.PROCESS


@pytest.mark.parametrize("image", ["busybox", "example/sparkle:1", "spark-operator"])
def test_other_images_have_no_runtime(image: str) -> None:
    with pytest.raises(ImageMissing, match="no runtime for the image"):
        runtime_of(image)


@pytest.mark.parametrize(
    "image",
    ["", "None", "Not An Image", "spark:", "spark@sha256", "../spark", "spark/../x", "spark:a b", "a." * 1_000_000],
    ids=lambda image: image[:20],
)
def test_what_is_no_name_of_an_image_is_said_to_be_none(image: str) -> None:
    with pytest.raises(InvalidImage, match="couldn't parse image name"):
        runtime_of(image)


def test_the_first_rule_that_matches_decides() -> None:
    rules = (ImageRule("team/spark", Runtime.PROCESS), ImageRule("*/spark", Runtime.SPARK))

    assert runtime_of("team/spark:1", rules) is Runtime.PROCESS
    assert runtime_of("other/spark:1", rules) is Runtime.SPARK
