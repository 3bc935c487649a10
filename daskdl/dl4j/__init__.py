"""Deeplearning4j's files, and its quirks.

``java`` and ``arrays`` are what the files are made of, ``datasets``, ``normalizers``,
``evaluation`` and ``network`` what is in them; ``quirks`` are what its numbers depend
on. The rest of the package knows of it that networks have a dialect; dialects and
formats of files are found by entry point.
"""
