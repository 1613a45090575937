"""Read a page of a program in a pod, through the API server (`pods/proxy`). The program is untrusted."""

from collections.abc import Mapping
from typing import Any

from .bounded_json import read_json, weigh
from .call import Call
from .client import KubeClient
from .resources import PODS
from .transport import AnswerTooLarge, read_up_to


async def read_pod_json(
    client: KubeClient,
    namespace: str,
    pod: str,
    address: str,
    parameters: Mapping[str, str],
    *,
    largest: int,
    seconds: float,
) -> Any:
    """Return a JSON value that a program in a pod serves over HTTP. Nothing is repeated.

    Args:
        client: The client of the cluster.
        namespace: The namespace of the pod.
        pod: The name of the pod.
        address: The port and the path: `4040/api/v1/applications`.
        parameters: The query parameters.
        largest: The maximum size of the answer in bytes, see `bounded_json.weigh`.
        seconds: The time limit for the whole answer.

    Raises:
        AnswerTooLarge: The answer is larger.
        ValueError: The answer is not JSON.
        KubeError: The API rejected the request, the program did not answer, or its status is no success.
    """
    port, _, path = address.partition("/")
    call = Call("get", "GET", PODS, namespace, f"{pod}:{port}", f"proxy/{path}", parameters)
    async with client.stream(call, seconds) as response:
        content = await read_up_to(response, largest)
    if weigh(content) > largest:
        raise AnswerTooLarge
    return await read_json(content)
