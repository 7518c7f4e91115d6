"""Fixtures for rows in files."""

from files_cases import file, frame, save

__all__ = ["file", "frame", "save"]
