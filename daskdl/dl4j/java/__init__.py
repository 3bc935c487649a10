"""Objects that Java serialised, as plain data."""
