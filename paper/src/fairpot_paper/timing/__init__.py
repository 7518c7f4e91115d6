"""Seconds of each method, and of a cost matrix with a network simplex."""
