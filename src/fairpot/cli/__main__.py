"""``python -m fairpot.cli`` is the same as ``fairpot``."""

from fairpot.cli import main

if __name__ == "__main__":
    main()
