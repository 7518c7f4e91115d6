"""Fixtures for rows in files."""

from engines_cases import file, frame, save

__all__ = ["file", "frame", "save"]
