"""A client whose tasks run where they are submitted."""

import asyncio


class InlineClient:
    """Stands in for a synchronous Client of two workers.

    Parameters
    ----------
    answer : callable, optional
        Changes the list of results before they come back.
    """

    asynchronous = False
    status = "running"
    generation = 0

    def get_worker_logs(self, nanny):
        return {}

    def __init__(self, answer=lambda results: results):
        self.submitted = 0
        self._answer = answer

    def sync(self, function, *args):
        return asyncio.run(function(*args))

    def nthreads(self):
        return {"a": 1, "b": 1}

    def scheduler_info(self, n_workers):
        """Nobody has a limit of memory."""
        worker = {"memory_limit": 0, "resources": {}}
        return {"workers": dict.fromkeys(self.nthreads(), worker)}

    async def run(self, function, *args, workers, on_error):
        return {address: function(*args) for address in workers}

    async def run_on_scheduler(self, function):
        """No worker has sent a heartbeat yet."""
        return {}

    def submit(self, function, *args, pure, **options):
        self.submitted += 1
        return function(*args)

    def map(self, function, items, *, pure, workers=None, **options):
        self.submitted += len(items)
        return [function(item, **options) for item in items]

    async def gather(self, results, *, asynchronous):
        return self._answer(results)
