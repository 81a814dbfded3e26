"""What runs inside a desktop, under Debian's own python3: standard library, Xlib and AT-SPI only.

The modules import one another by their bare names, because inside a desktop there is no package.
"""
