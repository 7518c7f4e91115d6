"""Reproduce the paper: plan, run, records, tables, figures, claims."""
