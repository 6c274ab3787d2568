"""``python -m pinotctl``."""

from pinotctl import main

main()
