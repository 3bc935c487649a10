"""A client whose tasks run where they are submitted."""


class InlineClient:
    """Stands in for a synchronous Client of two workers.

    Parameters
    ----------
    answer : callable, optional
        Changes the list of results before they come back.
    """

    asynchronous = False

    def __init__(self, answer=lambda results: results):
        self.submitted = 0
        self._answer = answer

    def nthreads(self):
        return {"a": 1, "b": 1}

    def scatter(self, value, **options):
        return value

    def submit(self, function, *args, pure):
        self.submitted += 1
        return function(*args)

    def map(self, function, items, *, pure, **options):
        self.submitted += len(items)
        return [function(item, **options) for item in items]

    def gather(self, results):
        return self._answer(results)
