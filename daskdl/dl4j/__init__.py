"""What is Deeplearning4j's: its files of networks, and how it computes.

The rest of the package knows of it that networks have a dialect, which is found by
entry point, and so are the formats of its files.
"""
