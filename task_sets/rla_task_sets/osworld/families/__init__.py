"""Families of generated desktop tasks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from rla_task_sets.osworld.families.deck import Deck
from rla_task_sets.osworld.families.document import Document
from rla_task_sets.osworld.families.family import Family, Goal, Params, Plan, Split
from rla_task_sets.osworld.families.folders import Folders
from rla_task_sets.osworld.families.form import Form
from rla_task_sets.osworld.families.spreadsheet import Spreadsheet
from rla_task_sets.osworld.families.terminal import Terminal
from rla_task_sets.osworld.families.text_edit import TextEdit
from rla_task_sets.osworld.families.two_apps import TwoApps

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        family.name: family
        for family in (
            TextEdit(),
            Terminal(),
            Folders(),
            Spreadsheet(),
            Document(),
            Deck(),
            Form(),
            TwoApps(),
        )
    }
)
"""Name -> family."""

__all__ = ["FAMILIES", "Family", "Goal", "Params", "Plan", "Split"]
