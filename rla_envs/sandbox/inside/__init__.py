"""What runs inside a cell, with the standard library only (Python 3.10 or later).

Nothing here is imported by the supervisor but ``values``: the modules travel into the cell as text
(see ``rla_envs.sandbox.bundle``), so that a container's image never disagrees with the caller.
"""
