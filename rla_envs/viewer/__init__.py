"""Trajectories of a run in a browser: a server on this machine only, behind a token."""

from rla_envs.viewer.server import Viewer, view

__all__ = ["Viewer", "view"]
