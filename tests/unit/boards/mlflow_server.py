"""What an MLflow server answers, as far as a training asks it; on this machine."""

import contextlib
import json
import threading
import uuid
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class MLflowServer:
    """Experiments and runs in memory.

    Attributes
    ----------
    url : str
    experiments : dict of str to str
        Id by name.
    runs : list of dict
        With `info`, `tags`, `params`, `points` by name, and all its `statuses`.
    answers : list of (int, str)
        Given before all others: a status and an error code.
    calls : list of str
    """

    def __init__(self, artifacts):
        self.experiments = {"Default": "0"}
        self.runs, self.answers, self.calls = [], [], []
        self._artifacts = artifacts
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @contextlib.contextmanager
    def serving(self):
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    @property
    def run(self):
        (run,) = self.runs
        return run

    def curve(self, name):
        return [(step, value) for step, value in self.run["points"][name]]

    def steps(self, name):
        return [step for step, _ in self.curve(name)]

    def answer(self, path, asked):
        """Return a status and a body."""
        with self._lock:
            self.calls.append(path)
            if self.answers:
                status, code = self.answers.pop(0)
                return status, {"error_code": code, "message": "as the test wants it"}
            return getattr(self, "_" + path.replace("/", "_").replace("-", "_"))(asked)

    def _experiments_get_by_name(self, asked):
        name = asked["experiment_name"]
        if name not in self.experiments:
            return _missing(name)
        known = {"experiment_id": self.experiments[name], "name": name}
        return 200, {"experiment": known}

    def _experiments_create(self, asked):
        self.experiments[asked["name"]] = number = str(len(self.experiments))
        return 200, {"experiment_id": number}

    def _runs_create(self, asked):
        # The client remembers where the files of a run are.
        number = uuid.uuid4().hex
        info = {
            "run_id": number,
            "run_uuid": number,
            "experiment_id": asked["experiment_id"],
            "run_name": asked.get("run_name", "bold-fox-1"),
            "status": "RUNNING",
            "artifact_uri": f"{self._artifacts}/{number}",
            "lifecycle_stage": "active",
        }
        run = {
            "info": info,
            "tags": _pairs(asked.get("tags", ())),
            "params": {},
            "points": defaultdict(list),
            "statuses": [],
        }
        self.runs.append(run)
        return 200, {"run": _told(run)}

    def _runs_get(self, asked):
        run = self._run(asked)
        return _missing("run") if run is None else (200, {"run": _told(run)})

    def _runs_search(self, asked):
        key = asked["filter"].split("'")[1]
        found = [run for run in self.runs if run["tags"].get("daskdl.run") == key]
        return 200, {"runs": [_told(run) for run in found]}

    def _runs_update(self, asked):
        run = self._run(asked)
        run["statuses"].append(asked["status"])
        run["info"] |= {
            name: asked[name] for name in ("status", "end_time") if name in asked
        }
        return 200, {"run_info": run["info"]}

    def _runs_set_tag(self, asked):
        self._run(asked)["tags"][asked["key"]] = asked["value"]
        return 200, {}

    def _runs_log_batch(self, asked):
        run = self._run(asked)
        params = _pairs(asked.get("params", ()))
        # As the server does.
        if any(
            run["params"].get(name, params[name]) != params[name] for name in params
        ):
            return 400, {"error_code": "INVALID_PARAMETER_VALUE", "message": "changed"}
        assert len(params) <= 100
        assert len(asked.get("metrics", ())) <= 1000
        run["params"] |= params
        for one in asked.get("metrics", ()):
            point = (int(one.get("step", 0)), float(one["value"]))
            run["points"][one["key"]].append(point)
        return 200, {}

    def _run(self, asked):
        number = asked["run_id"]
        return next((r for r in self.runs if r["info"]["run_id"] == number), None)

    def _handler(server):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                query = parse_qs(urlsplit(self.path).query)
                self._reply({name: values[0] for name, values in query.items()})

            def do_POST(self):
                length = int(self.headers["Content-Length"])
                self._reply(json.loads(self.rfile.read(length)))

            do_PATCH = do_POST

            def _reply(self, asked):
                path = urlsplit(self.path).path.removeprefix("/api/2.0/mlflow/")
                status, body = server.answer(path, asked)
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args):
                pass

        return Handler


def _missing(what):
    return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": f"no {what}"}


def _pairs(items):
    return {one["key"]: one["value"] for one in items}


def _told(run):
    params = [{"key": key, "value": value} for key, value in run["params"].items()]
    tags = [{"key": key, "value": value} for key, value in run["tags"].items()]
    return {"info": run["info"], "data": {"params": params, "tags": tags}}
