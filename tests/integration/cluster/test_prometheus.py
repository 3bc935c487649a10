"""Prometheus asks a worker at the address of its dashboard, as it asks Dask."""

import threading
import urllib.request

import pytest

import daskdl as dl
from daskdl.cluster.frontend import DaskMultiLayer

HOW = {"batch_size": 16, "epochs": 3, "shuffle": True}
ACTIVITIES = "daskdl_activity_seconds_total"


def port_of(dask_worker):
    # What the client knows of workers lacks one now and then while it is renewed.
    return dask_worker.service_ports["dashboard"]


def scrape(client):
    """Return the samples of all workers, by address, name and labels."""
    parser = pytest.importorskip(
        "prometheus_client.parser", reason="needs daskdl[prometheus]"
    )
    found = {}
    for address, port in client.run(port_of).items():
        url = f"http://127.0.0.1:{port}/metrics"
        with urllib.request.urlopen(url, timeout=30) as answer:
            text = answer.read().decode()
        found[address] = {
            (sample.name, *sample.labels.values()): sample.value
            for family in parser.text_string_to_metric_families(text)
            for sample in family.samples
        }
    return found


def total(scraped, *name):
    return sum(samples.get(name, 0.0) for samples in scraped.values())


class Asks(dl.Listener):
    """Asks the workers again and again while others train."""

    def __init__(self, client):
        self.client = client
        self.answers = []
        self._one_by_one = threading.Lock()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._go_on_asking)

    def on_fit_start(self, fit):
        self._thread.start()

    def on_epoch_end(self, fit):
        # Between two epochs all members are there.
        self._ask()

    def on_fit_end(self, fit):
        self._is_over.set()
        self._thread.join()

    def _go_on_asking(self):
        while not self._is_over.wait(0.05):
            self._ask()

    def _ask(self):
        with self._one_by_one:
            self.answers.append(scrape(self.client))


@pytest.fixture(scope="module")
def trained(module_cluster_of, blobs, network):
    """Return answers during and behind two fits, on two workers."""
    client = module_cluster_of(2)
    scrape(client)
    front = DaskMultiLayer(client, network())
    answers = []
    for _ in range(2):
        asks = Asks(client)
        front.fit(blobs(320), **HOW, listeners=asks)
        answers.append((asks.answers, scrape(client)))
    return answers


def test_prometheus_scrapes_workers(trained):
    (during, behind), (_, behind_both) = trained
    told = [each for each in during if total(each, "daskdl_members") == 2]
    assert told
    assert all(("daskdl_score",) in one for one in told[-1].values())
    # Every example once an epoch, and again in the second fit.
    assert total(behind, "daskdl_examples_total") == 3 * 320
    assert total(behind, "daskdl_minibatches_total") == 3 * 20
    assert total(behind, "daskdl_epochs_total") == 3 * 2
    assert total(behind_both, "daskdl_examples_total") == 2 * 3 * 320
    for samples in behind.values():
        assert samples["daskdl_members",] == 0
        assert ("daskdl_score",) not in samples
        assert samples["daskdl_sent_bytes_total",] > 0
        assert samples["daskdl_received_bytes_total",] > 0
        assert samples[ACTIVITIES, "compute"] > 0
        assert ("dask_worker_threads",) in samples


def test_counters_never_fall(trained):
    in_order = [each for during, behind in trained for each in [*during, behind]]
    for address in in_order[-1]:
        counted = [each[address] for each in in_order]
        names = [name for name in counted[-1] if name[0].startswith("daskdl")]
        for name in set(names) - {("daskdl_members",)}:
            values = [one.get(name, 0.0) for one in counted]
            assert values == sorted(values), name
