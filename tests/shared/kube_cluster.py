"""A stand-in for a Kubernetes cluster: its API server, and what acts behind it, for as long as a test lasts.

It speaks HTTP and exec streams (v5.channel.k8s.io) as the real one does, keeps objects, fills the places of
indexed Jobs with pods, runs the pods of other Jobs once, and ends them. A pod is a local process, its
command; an exec is one beside it. Both see this machine's files and processes. When a pod ends, all that was
started in it ends, as it does there.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from kube_network import SITE, Plugin, write_closed
from kube_pods import StandInPod, now

NODE, PROTOCOL = "node-1", "v5.channel.k8s.io"
FIRST_BACK_OFF = 0.5
"""Seconds until a failed pod is replaced; they double with each failure, as the Job controller's ten do."""
FINALIZER = "batch.kubernetes.io/job-tracking"
ORDINAL, JOB = "batch.kubernetes.io/job-completion-index", "batch.kubernetes.io/job-name"
Objects = dict[str, dict[str, Any]]


@dataclass
class Behaviour:
    """What is odd about the cluster; a test may change it at any time."""

    room: int = 100  # for so many pods at a time
    images: frozenset[str] = frozenset({"tools:1"})
    quota: int | None = None  # of pods
    is_restricted: bool = True  # by the Pod Security Standard, of which it looks at the account only
    denied: set[tuple[str, str]] = field(default_factory=set)  # verb and resource
    tokens: set[str] = field(default_factory=lambda: {"secret-token"})
    protocols: tuple[str, ...] = (PROTOCOL,)
    is_away: bool = False
    fault: tuple[int, str] | None = None  # status and message of every answer
    network: Plugin = "enforces"
    strangers: list[dict[str, Any]] = field(default_factory=list)  # pods of others on the node
    tells_after: float = 0.0  # seconds until a kubelet tells that a container runs
    time_to_live: float | None = None  # of Jobs that have ended; None: as they say


class KubeCluster:
    """The cluster, which acts in a thread of its own: `with KubeCluster.running() as cluster`."""

    def __init__(self) -> None:
        self.behaviour = Behaviour()
        self.url, self.commands = "", list[list[str]]()
        self.requests = list[str]()
        self.jobs, self.events, self.claims = Objects(), Objects(), Objects()
        self.policies = Objects()
        self.nodes = {NODE: _make_node(NODE)}
        self.pods = dict[str, StandInPod]()
        self.addresses = (f"127.0.{number // 250 + 1}.{number % 250 + 1}" for number in itertools.count())
        self.closed: Path
        self._loop: asyncio.AbstractEventLoop
        self._ready, self._stop = threading.Event(), asyncio.Event()

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[KubeCluster]:
        cluster = cls()
        folder = tempfile.TemporaryDirectory()
        cluster.closed = Path(folder.name) / "closed"
        cluster._loop = asyncio.new_event_loop()
        thread = threading.Thread(
            target=cluster._loop.run_until_complete, args=(cluster._serve(),), daemon=True
        )
        thread.start()
        cluster._ready.wait()
        try:
            yield cluster
        finally:
            cluster._loop.call_soon_threadsafe(cluster._stop.set)
            thread.join()
            cluster._loop.close()
            folder.cleanup()

    def write_kubeconfig(self, path: Path, token: str = "secret-token", **user: Any) -> Path:
        """A file as kubectl would read it."""
        user = user or {"token": token}
        document = {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "bench"}}],
            "clusters": [{"name": "c", "cluster": {"server": self.url}}],
            "users": [{"name": "u", "user": user}],
        }
        path.write_text(json.dumps(document))
        path.chmod(0o600)
        return path

    def labelled(self, label: str) -> list[str]:
        """The objects of any kind that bear a label."""
        documents = [
            *self.nodes.values(),
            *self.policies.values(),
            *self.jobs.values(),
            *self.claims.values(),
            *(pod.document for pod in self.pods.values()),
        ]
        return [each["metadata"]["name"] for each in documents if label in each["metadata"].get("labels", {})]

    def do(self, action: Any) -> Any:
        """Call something in the cluster's thread, and wait for it; what it raises is raised."""
        done: Future[Any] = Future()

        def act() -> None:
            try:
                done.set_result(action())
            except Exception as error:
                done.set_exception(error)

        self._loop.call_soon_threadsafe(act)
        return done.result()

    def delete_pod(self, name: str) -> None:
        """As `kubectl delete pod` does."""
        self.do(lambda: self._end_pod(name))

    def evict(self, name: str) -> None:
        """The kubelet needs the room."""
        self.do(lambda: self.pods[name].finish({"exitCode": 137, "reason": "Error"}, reason="Evicted"))

    def cut_streams(self) -> None:
        """All exec streams break, as when the API server is started anew."""
        self.do(
            lambda: [
                stream._req.transport.abort()
                for pod in self.pods.values()
                for stream in pod.streams
                if stream._req and stream._req.transport
            ]
        )

    @property
    def node(self) -> dict[str, Any]:
        """The first node."""
        return self.nodes[NODE]

    def add_node(self, name: str) -> None:
        """One more, which gets pods where the others take none."""
        self.do(lambda: self.nodes.setdefault(name, _make_node(name)))

    # HTTP -------------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        app = web.Application(middlewares=[self._check])
        space = "/namespaces/{space}"
        policies = f"/apis/networking.k8s.io/v1{space}/networkpolicies"
        app.add_routes(
            [
                web.post(f"/apis/batch/v1{space}/jobs", self._create_job),
                web.get(f"/apis/batch/v1{space}/jobs", self._list(self._job_documents)),
                web.get(f"/apis/batch/v1{space}/jobs/{{name}}", self._get(self._job_documents)),
                web.delete(f"/apis/batch/v1{space}/jobs/{{name}}", self._delete_job),
                web.post(f"/api/v1{space}/pods", self._try_pod),
                web.get(f"/api/v1{space}/pods", self._list(self._pod_documents)),
                web.get(f"/api/v1{space}/pods/{{name}}", self._get(self._pod_documents)),
                web.delete(f"/api/v1{space}/pods/{{name}}", self._delete_pod),
                web.patch(f"/api/v1{space}/pods/{{name}}", self._patch_pod),
                web.get(f"/api/v1{space}/pods/{{name}}/exec", self._exec),
                web.get(f"/api/v1{space}/events", self._list(lambda: self.events)),
                web.get(f"/api/v1{space}/persistentvolumeclaims", self._list(lambda: self.claims)),
                web.post(f"{policies}", self._create_policy),
                web.patch(f"{policies}/{{name}}", self._patch_policy),
                web.delete(f"{policies}/{{name}}", self._delete_policy),
                web.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", self._review),
                web.get("/api/v1/nodes", self._list(lambda: self.nodes)),
                web.get("/api/v1/nodes/{name}", self._get(lambda: self.nodes)),
                web.patch("/api/v1/nodes/{name}", self._patch_node),
                web.get("/api/v1/pods", self._list_all_pods),
                web.post(f"/api/v1{space}/pods/{{name}}/eviction", self._delete_pod),
            ]
        )
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
        ticking = asyncio.create_task(self._tick())
        self._ready.set()
        await self._stop.wait()
        ticking.cancel()
        for name in list(self.jobs):
            self._end_job(name)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(others, timeout=10)  # the ends of all processes are collected
        await runner.cleanup()

    @web.middleware
    async def _check(self, request: web.Request, handler: Any) -> web.StreamResponse:
        behaviour = self.behaviour
        self.requests.append(f"{request.method} {request.path_qs}")
        if behaviour.is_away and request.transport:
            request.transport.abort()
        if behaviour.fault:
            return self._refuse(*behaviour.fault)
        words = request.headers.get("Authorization", "").split()
        if words[:1] != ["Bearer"] or words[1] not in behaviour.tokens:
            return self._refuse(401, "Unauthorized")
        verb, resource = _verb_of(request)
        if (verb, resource) in behaviour.denied:
            said = f'User "u" cannot {verb} resource "{resource}" in the namespace "bench"'
            return self._refuse(403, f"{resource} is forbidden: {said}")
        return await handler(request)

    @staticmethod
    def _refuse(status: int, message: str, reason: str = "") -> web.Response:
        body = {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": status}
        return web.json_response(body, status=status)

    def _list(self, source: Any) -> Any:
        async def handle(request: web.Request) -> web.Response:
            wanted = [each for each in source().values() if _matches(each, request.query)]
            return web.json_response({"kind": "List", "items": wanted})

        return handle

    def _get(self, source: Any) -> Any:
        async def handle(request: web.Request) -> web.Response:
            document = source().get(request.match_info["name"])
            return web.json_response(document) if document else self._refuse(404, "not found", "NotFound")

        return handle

    def _pod_documents(self) -> Objects:
        return {name: pod.document for name, pod in self.pods.items()}

    def _job_documents(self) -> Objects:
        for name, job in self.jobs.items():
            phases = [each["status"]["phase"] for each in self._documents_of(name)]
            job["status"] |= {"ready": phases.count("Running")}
            job["status"] |= {"active": phases.count("Running") + phases.count("Pending")}
        return self.jobs

    async def _patch_node(self, request: web.Request) -> web.Response:
        node, change = self.nodes[request.match_info["name"]], await request.json()
        for key, value in change["metadata"].items():
            node["metadata"][key] = _merge(node["metadata"][key], value)
        node["spec"] = _merge(node["spec"], change["spec"])
        for pod in list(self.pods.values()):
            if not pod.document["spec"].get("nodeName"):
                self._schedule(pod)
        return web.json_response(node)

    async def _list_all_pods(self, request: web.Request) -> web.Response:
        key, _, node = request.query["fieldSelector"].partition("=")
        assert key == "spec.nodeName"
        known = [*self._pod_documents().values(), *self.behaviour.strangers]
        return web.json_response({"items": [each for each in known if each["spec"].get("nodeName") == node]})

    async def _review(self, request: web.Request) -> web.Response:
        asked = (await request.json())["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
        allowed = (asked["verb"], resource) not in self.behaviour.denied
        return web.json_response({"status": {"allowed": allowed}}, status=201)

    # Jobs -------------------------------------------------------------------------------------------------

    async def _create_job(self, request: web.Request) -> web.Response:
        document = await request.json()
        if begin := document["metadata"].get("generateName"):
            document["metadata"]["name"] = begin + secrets.token_hex(3)
        document["spec"].setdefault("completions", 1)
        name = document["metadata"]["name"]
        if name in self.jobs:
            return self._refuse(409, f'jobs.batch "{name}" already exists', "AlreadyExists")
        document["metadata"] |= {
            "uid": secrets.token_hex(8),
            "creationTimestamp": now(),
            "namespace": "bench",
        }
        document["status"] = {}
        if request.query.get("dryRun") != "All":
            document["began"] = time.monotonic()
            self.jobs[name] = document
            self._fill(name)
        return web.json_response(document, status=201)

    async def _delete_job(self, request: web.Request) -> web.Response:
        if request.match_info["name"] not in self.jobs:
            return self._refuse(404, "not found", "NotFound")
        self._end_job(request.match_info["name"])
        return web.json_response({"status": "Success"})

    async def _try_pod(self, request: web.Request) -> web.Response:
        """What admission says of a pod, by the rules that Jobs do not meet."""
        assert request.query.get("dryRun") == "All", "pods are made by Jobs"
        document = await request.json()
        about = f'pods "{document["metadata"]["generateName"]}" is forbidden:'
        account = document["spec"]["securityContext"].get("runAsUser")
        if self.behaviour.is_restricted and account == 0:
            return self._refuse(403, f'{about} violates PodSecurity "restricted:latest": runAsUser=0')
        if self._is_quota_reached():
            return self._refuse(403, f"{about} exceeded quota")
        return web.json_response(document, status=201)

    def _is_quota_reached(self) -> bool:
        return self.behaviour.quota is not None and len(self.pods) >= self.behaviour.quota

    async def _patch_pod(self, request: web.Request) -> web.Response:
        pod = self.pods.get(request.match_info["name"])
        if pod is None:
            return self._refuse(404, "not found", "NotFound")
        gone = (await request.json())["metadata"]["$deleteFromPrimitiveList/finalizers"]
        metadata = pod.document["metadata"]
        metadata["finalizers"] = [each for each in metadata["finalizers"] if each not in gone]
        return web.json_response(pod.document)

    async def _delete_pod(self, request: web.Request) -> web.Response:
        if request.match_info["name"] not in self.pods:
            return self._refuse(404, "not found", "NotFound")
        self._end_pod(request.match_info["name"])
        return web.json_response({"status": "Success"})

    # Networks ---------------------------------------------------------------------------------------------

    async def _create_policy(self, request: web.Request) -> web.Response:
        document = await request.json()
        (owner,) = document["metadata"]["ownerReferences"]
        assert self.jobs[owner["name"]]["metadata"]["uid"] == owner["uid"], "else it would be removed at once"
        self.policies[document["metadata"]["name"]] = document
        self._close()
        return web.json_response(document, status=201)

    async def _patch_policy(self, request: web.Request) -> web.Response:
        document = self.policies[request.match_info["name"]]
        document["spec"] |= (await request.json())["spec"]
        self._close()
        return web.json_response(document)

    async def _delete_policy(self, request: web.Request) -> web.Response:
        if self.policies.pop(request.match_info["name"], None) is None:
            return self._refuse(404, "not found", "NotFound")
        self._close()
        return web.json_response({"status": "Success"})

    def _close(self) -> None:
        """Have the network do what the policies say, or what its plug-in makes of them."""
        write_closed(
            self.closed, self._pod_documents().values(), self.policies.values(), self.behaviour.network
        )

    def _end_job(self, name: str) -> None:
        self.jobs.pop(name, None)
        owned = [key for key, each in self.policies.items() if _is_owned(each, name)]
        for key in owned:
            del self.policies[key]
        for document in self._documents_of(name):
            self._end_pod(document["metadata"]["name"])

    def _documents_of(self, job: str) -> list[dict[str, Any]]:
        documents = (pod.document for pod in self.pods.values())
        return [each for each in documents if each["metadata"]["labels"][JOB] == job]

    def _end_pod(self, name: str) -> None:
        pod = self.pods.pop(name)
        self.claims.pop(f"{name}-scratch", None)
        pod.finish({"exitCode": 143, "reason": "Error"})

    def _fill(self, name: str) -> None:
        """Make the pods that a Job lacks."""
        job = self.jobs[name]
        mine = self._documents_of(name)
        taken = {
            each["metadata"]["annotations"][ORDINAL] for each in mine if each["status"]["phase"] != "Failed"
        }
        for index in range(job["spec"]["completions"]):
            if str(index) not in taken and not job["status"].get("conditions"):
                if self._is_quota_reached():
                    self._note_event(
                        job, "FailedCreate", 'Error creating: pods "x" is forbidden: exceeded quota'
                    )
                    return
                self._make_pod(job, index)

    def _note_event(self, about: dict[str, Any], reason: str, message: str) -> None:
        uid = about["metadata"]["uid"]
        self.events[f"{uid}.{reason}"] = {
            "metadata": {"name": f"{uid}.{reason}", "labels": {}},
            "involvedObject": {"uid": uid},
            "type": "Warning",
            "reason": reason,
            "message": message,
            "lastTimestamp": now(),
        }

    def _make_pod(self, job: dict[str, Any], index: int) -> None:
        name = f"{job['metadata']['name']}-{index}-{secrets.token_hex(3)}"
        template = json.loads(json.dumps(job["spec"]["template"]))
        metadata = template.setdefault("metadata", {})
        metadata |= {
            "name": name,
            "namespace": "bench",
            "uid": secrets.token_hex(8),
            "creationTimestamp": now(),
            "finalizers": [FINALIZER],
        }
        metadata["labels"] = {**metadata.get("labels", {}), JOB: job["metadata"]["name"], ORDINAL: str(index)}
        metadata["annotations"] = {**metadata.get("annotations", {}), ORDINAL: str(index)}
        document = {**template, "status": {"phase": "Pending", "qosClass": "Guaranteed", "conditions": []}}
        self.pods[name] = StandInPod(
            document, self._surroundings(), self._note_end, self.behaviour.tells_after
        )
        for volume in template["spec"].get("volumes", ()):
            if claim := volume.get("ephemeral"):
                labels = claim["volumeClaimTemplate"]["metadata"]["labels"]
                self.claims[f"{name}-scratch"] = {"metadata": {"name": f"{name}-scratch", "labels": labels}}
        self._schedule(self.pods[name])

    def _surroundings(self) -> dict[str, str]:
        """What a pod has of its own beside its template."""
        self._close()
        address = next(self.addresses)
        return {"STAND_IN_ADDRESS": address, "STAND_IN_CLOSED": str(self.closed), "PYTHONPATH": str(SITE)}

    def _schedule(self, pod: StandInPod) -> None:
        running = [each for each in self.pods.values() if each.document["spec"].get("nodeName")]
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}
        open_nodes = [name for name, node in self.nodes.items() if not node["spec"].get("unschedulable")]
        if len(running) >= self.behaviour.room or not open_nodes:
            scheduled |= {
                "status": "False",
                "reason": "Unschedulable",
                "message": "0/1 nodes: Insufficient cpu.",
            }
        pod.document["status"]["conditions"] = [scheduled]
        if scheduled["status"] == "False":
            return
        pod.document["spec"]["nodeName"] = open_nodes[0]
        image = pod.document["spec"]["containers"][0]["image"]
        if image in self.behaviour.images:
            asyncio.run_coroutine_threadsafe(pod.start(), self._loop)
        else:
            pod.wait_for("ImagePullBackOff", f'Back-off pulling image "{image}"')

    def _note_end(self, pod: StandInPod) -> None:
        name = pod.document["metadata"]["labels"][JOB]
        job = self.jobs.get(name)
        if job is None:
            return
        ends = [each["status"]["phase"] for each in self._documents_of(name)]
        if pod.document["status"]["phase"] == "Failed" and not job["spec"].get("backoffLimit", 6):
            self._finish_job(name, "Failed", "BackoffLimitExceeded")
        elif pod.document["status"]["phase"] == "Failed":
            self._loop.call_later(
                self._count_failure(pod, job), lambda: self._fill(name) if name in self.jobs else None
            )
        elif ends.count("Succeeded") == job["spec"]["completions"]:
            self._finish_job(name, "Complete", "CompletionsReached")

    def _finish_job(self, name: str, how: str, reason: str) -> None:
        job, said = self.jobs[name], self.behaviour.time_to_live
        job["status"]["conditions"] = [{"type": how, "status": "True", "reason": reason}]
        ttl = job["spec"]["ttlSecondsAfterFinished"] if said is None else said
        self._loop.call_later(ttl, self._end_job, name)

    @staticmethod
    def _count_failure(pod: StandInPod, job: dict[str, Any]) -> float:
        """Seconds until its place is filled; one that the Job does not track any more is no failure of it."""
        if FINALIZER not in pod.document["metadata"]["finalizers"]:
            return 0.0
        job["failed"] = job.get("failed", 0) + 1
        return float(FIRST_BACK_OFF * 2 ** (job["failed"] - 1))

    async def _tick(self) -> None:
        """End Jobs whose time is up."""
        while True:
            await asyncio.sleep(0.1)
            for name, job in list(self.jobs.items()):
                if time.monotonic() > job["began"] + job["spec"]["activeDeadlineSeconds"]:
                    self._end_job(name)

    # Exec -------------------------------------------------------------------------------------------------

    async def _exec(self, request: web.Request) -> web.StreamResponse:
        pod = self.pods.get(request.match_info["name"])
        if pod is None or not pod.runs:
            return self._refuse(404, "pods not found", "NotFound")
        command = request.query.getall("command")
        self.commands.append(command)
        stream = web.WebSocketResponse(protocols=self.behaviour.protocols, max_msg_size=0)
        await stream.prepare(request)
        await pod.execute(command, stream)
        return stream


def _make_node(name: str) -> dict[str, Any]:
    info = {"kernelVersion": os.uname().release, "containerRuntimeVersion": "stand-in://1"}
    about = {"name": name, "labels": {}, "annotations": {}}
    return {"metadata": about, "spec": {}, "status": {"nodeInfo": info}}


def _merge(known: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in {**known, **change}.items() if value is not None}


def _is_owned(document: dict[str, Any], job: str) -> bool:
    return any(each["name"] == job for each in document["metadata"]["ownerReferences"])


def _verb_of(request: web.Request) -> tuple[str, str]:
    here = request.path.partition("/bench/")[2] or request.path.partition("/api/v1/")[2]
    resource = here.split("/")
    name = "/".join((resource[0], *resource[2:]))
    reading = "get" if resource[1:] else "list"
    return {"POST": "create", "DELETE": "delete", "PATCH": "patch"}.get(request.method, reading), name


def _matches(document: dict[str, Any], query: Any) -> bool:
    labels = document["metadata"].get("labels", {})
    for wanted in filter(None, query.get("labelSelector", "").split(",")):
        key, has_value, value = wanted.partition("=")
        if key not in labels or (has_value and labels[key] != value):
            return False
    uid = query.get("fieldSelector", "").partition("involvedObject.uid=")[2]
    return not uid or document.get("involvedObject", {}).get("uid") == uid
