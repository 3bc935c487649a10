"""Models and configurations of DL4J, read and written."""
