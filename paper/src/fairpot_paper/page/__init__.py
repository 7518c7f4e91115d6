"""The page of claims."""
