"""``python -m angsync.cli``."""

from angsync.cli import main

main()
