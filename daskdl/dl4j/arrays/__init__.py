"""Arrays of ND4J, as bytes."""
