"""Data sets of DL4J, one a file or several in a zip."""
