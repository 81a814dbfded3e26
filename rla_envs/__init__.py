"""Gymnasium environments in which the policy, the reward model and the tasks improve together.

Importing this package registers its ids (``rla/AlfWorld-v0``, ``rla/AlfWorld-Adaptive-v0``) and
costs gymnasium and numpy only.
"""

from rla_envs.registration import register_envs, registered_ids

__version__ = "0.1.0"
__all__ = ["__version__", "register_envs", "registered_ids"]

register_envs()
