"""The quirks of DL4J 1.0.0-M2.1 that its numbers depend on, a file a family.

A row a quirk: name, where, what DL4J does, what ``exact`` does, the test that shows the
difference, and which networks are concerned. ``docs/dl4j-quirks.md`` is written from
these rows.
"""
