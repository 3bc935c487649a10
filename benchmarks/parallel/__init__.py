"""One machine: threads that ask a network, and processes that train it."""
