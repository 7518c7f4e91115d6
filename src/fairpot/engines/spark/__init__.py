"""Rows in a Spark cluster: counted into a score table, and adjusted where they are."""
