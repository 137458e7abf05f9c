"""``python -m angsync``: the same as the command ``angsync``."""

from angsync.cli import main

if __name__ == "__main__":
    main()
