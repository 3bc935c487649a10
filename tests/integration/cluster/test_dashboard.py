"""The page of fits at the address of Dask's dashboard, from a real scheduler."""

import importlib.util
import time
import urllib.error
import urllib.request
from urllib.parse import urljoin

import pytest

import daskdl as dl
from daskdl.cluster.dashboard.plugin import PLUGIN_NAME, TELL_OP
from daskdl.cluster.frontend import DaskMultiLayer

HOW = {"batch_size": 16, "epochs": 3, "shuffle": True}


def base_of(client):
    services = client.scheduler_info()["services"]
    return f"http://127.0.0.1:{services['dashboard']}/"


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode(), answer.headers


def pages_of_dask(dask_scheduler):
    from distributed.dashboard.scheduler import template_variables

    return list(template_variables(dask_scheduler)["pages"])


def forget_all(dask_scheduler):
    plugin = dask_scheduler.plugins[PLUGIN_NAME]
    plugin.fits.ended.clear()
    plugin.look_again()
    left = [name for name in dask_scheduler.plugins if name.startswith("daskdl")]
    return left, TELL_OP in dask_scheduler.handlers


class Looks(dl.Listener):
    """Looks at the page at the end of an epoch, until it tells of the one before."""

    def __init__(self, url):
        self.url = url
        self.page = ""

    def on_epoch_end(self, fit):
        if fit.epoch == 1:
            # Members tell what they do every quarter of a second.
            time.sleep(0.5)
        deadline = time.monotonic() + 30
        while fit.epoch == 3 and time.monotonic() < deadline:
            self.page = get(self.url)[0]
            if "score of last epoch" in self.page:
                return
            time.sleep(0.5)


def test_the_page_is_there_during_and_behind_a_fit(cluster_of, blobs, network):
    client = cluster_of(2)
    base = base_of(client)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(base + "daskdl")
    looks = Looks(base + "daskdl")
    front = DaskMultiLayer(client, network())
    front.fit(blobs(320), **HOW, listeners=looks)
    assert "SharedTrainingMaster" in looks.page
    assert "took so far" in looks.page
    assert looks.page.count('<svg class="bar"') == 2

    page, headers = get(base + "daskdl")
    assert "No fit runs." in page
    assert "in order" in page
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    ended, _ = get(base + "daskdl/1")
    assert "3 of 3" in ended
    assert "All fits" in ended
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(base + "daskdl/2")

    has_bokeh = importlib.util.find_spec("bokeh") is not None
    if has_bokeh:
        assert client.run_on_scheduler(pages_of_dask)[-1] == "daskdl"
        assert 'href="daskdl"' in get(base + "status")[0]
    assert client.run_on_scheduler(forget_all) == ([], False)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(base + "daskdl")
    if has_bokeh:
        assert "daskdl" not in client.run_on_scheduler(pages_of_dask)


def test_a_fit_that_fails_says_why(cluster_of, blobs, network):
    client = cluster_of(1)
    rate = dl.Sgd(learning_rate=1e30)
    front = DaskMultiLayer(client, network(updater=rate))
    with pytest.raises(dl.DivergedError):
        front.fit(blobs(320), **HOW)
    assert "DivergedError" in get(urljoin(base_of(client), "daskdl"))[0]
