"""The routes of a local Kaggle."""

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from generator.localkaggle.http.administration import Administration
from generator.localkaggle.http.bodies import Bodies
from generator.localkaggle.http.browsers import Browsers
from generator.localkaggle.http.calls import Calls, Workers
from generator.localkaggle.http.door import Door
from generator.localkaggle.http.limits import Limits
from generator.localkaggle.http.logs import LogStreams
from generator.localkaggle.http.storage import Storage
from generator.localkaggle.http.traffic import Traffic
from generator.localkaggle.local_kaggle import LocalKaggle
from generator.localkaggle.services.blobs import UPLOAD
from generator.localkaggle.tickets import STORAGE


def application(
    local_kaggle: LocalKaggle, workers: Workers, limits: Limits, *, hosts: tuple[str, ...], traffic: Traffic | None
) -> ASGIApp:
    """Everything that the server answers, behind its door."""
    bodies = Bodies(limits)
    calls = Calls(local_kaggle, workers, bodies, traffic=traffic)
    storage = Storage(local_kaggle, workers, limits)
    logs = LogStreams(local_kaggle, workers)
    browsers = Browsers(local_kaggle, workers, bodies)
    routes = [
        Route(f"/{STORAGE}/{{ticket}}/{{name}}", storage.download, methods=["GET"]),
        Route(f"/{UPLOAD}/{{token}}", storage.upload, methods=["PUT"]),
        Route("/local/faults", Administration(local_kaggle.site.faults, bodies).__call__, methods=["GET", "POST"]),
    ]
    # Real Kaggle serves the API at api.kaggle.com/v1; clients put /api before it for any other host.
    for prefix in ("/api/v1", "/v1"):
        routes += [
            Route(f"{prefix}/kernels/logs/stream/{{owner}}/{{slug}}", logs.__call__, methods=["GET"]),
            Route(f"{prefix}/{{service}}/{{method}}", calls.__call__, methods=["POST"]),
        ]
    routes.append(Route("/{path:path}", browsers.__call__, methods=["GET", "POST"]))
    door = Door(Starlette(routes=routes), local_kaggle.accounts, limits, hosts=hosts)
    browsers.door = door
    return door
