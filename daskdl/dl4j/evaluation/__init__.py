"""Evaluations of DL4J, as JSON."""
