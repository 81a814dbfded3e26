"""What stands in a room, what lies around, and what fits where, in ALFRED's words.

The tables are our own; class names and flags are ALFRED's, so that a model meets the same words in
generated and official games.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

RoomKind = Literal["kitchen", "bedroom", "bathroom", "livingroom"]

ROOM_KINDS: tuple[RoomKind, ...] = ("kitchen", "bedroom", "bathroom", "livingroom")

OPENABLE = frozenset({"Cabinet", "Drawer", "Fridge", "Microwave", "Safe"})
"""Receptacle types with a door or a front; they are closed at the start."""

FLAGS: Mapping[str, str] = {
    "Apple": "chks",
    "Bowl": "ckv",
    "Box": "v",
    "Bread": "hks",
    "ButterKnife": "c",
    "Cloth": "c",
    "Cup": "chkv",
    "DishSponge": "c",
    "Egg": "chks",
    "Fork": "c",
    "Kettle": "c",
    "Knife": "c",
    "Ladle": "c",
    "Lettuce": "cks",
    "Mug": "chkv",
    "Pan": "ckv",
    "Plate": "chkv",
    "Pot": "ckv",
    "Potato": "chks",
    "SoapBar": "c",
    "Spatula": "c",
    "Spoon": "c",
    "Tomato": "chks",
    "WineBottle": "k",
}
"""Item type -> its ALFRED flags beside pickupable: cleanable, heatable, coolable (k), sliceable and
vessel (v: ``examine`` looks inside). A type that is not listed has none."""

LAMPS: Mapping[str, tuple[str, ...]] = {
    "DeskLamp": ("Desk", "SideTable", "Dresser", "Shelf"),
    "FloorLamp": ("SideTable", "TVStand", "Dresser"),
}
"""Light that can be switched on -> receptacle types it stands on."""

_CROCKERY = "Bowl Cup Mug Plate"
_FOOD = "Apple Bread Egg Lettuce Potato Tomato"
_CUTLERY = "ButterKnife Fork Knife Ladle Spatula Spoon"
_BOTTLES = "Glassbottle SoapBottle WineBottle"
_SHAKERS = "PepperShaker SaltShaker"
_POCKET = "CellPhone CreditCard KeyChain Watch"
_WRITING = "Book Newspaper Pen Pencil"
_BATH = "Cloth HandTowel SoapBar SoapBottle SprayBottle ToiletPaper"
_DECOR = "Candle Statue TissueBox Vase"

_TABLETOP = (
    f"{_CROCKERY} {_FOOD} {_CUTLERY} {_BOTTLES} {_SHAKERS} {_POCKET} {_WRITING} {_DECOR} "
    "AlarmClock Box CD DishSponge Kettle Laptop Pan Pot RemoteControl SprayBottle"
)
_SEAT = "Book Box CellPhone CreditCard KeyChain Laptop Newspaper Pillow RemoteControl"

_FITS = {
    "ArmChair": _SEAT,
    "BathtubBasin": "Cloth DishSponge HandTowel SoapBar",
    "Bed": "BaseballBat BasketBall Book CellPhone Laptop Pillow TennisRacket",
    "Cabinet": f"Bowl Box CD Candle Cloth Cup DishSponge Glassbottle HandTowel Kettle Ladle Mug "
    f"Newspaper Pan Plate Pot SoapBar SoapBottle SprayBottle TissueBox ToiletPaper Vase WineBottle "
    f"{_SHAKERS}",
    "Cart": f"{_BATH} Candle DishSponge TissueBox",
    "CoffeeMachine": "Mug",
    "CoffeeTable": f"{_POCKET} {_WRITING} {_DECOR} Bowl Box Laptop Plate RemoteControl",
    "CounterTop": f"{_TABLETOP} Cloth HandTowel SoapBar ToiletPaper",
    "Desk": f"{_POCKET} AlarmClock BasketBall Book Bowl Box CD Laptop Mug Pen Pencil RemoteControl "
    "Statue TennisRacket TissueBox Vase",
    "DiningTable": f"{_TABLETOP} BaseballBat",
    "Drawer": f"{_POCKET} {_WRITING} {_CUTLERY} {_SHAKERS} CD Candle Cloth DishSponge HandTowel "
    "RemoteControl SoapBar SoapBottle SprayBottle TissueBox ToiletPaper",
    "Dresser": f"{_POCKET} {_WRITING} {_DECOR} AlarmClock BasketBall Bowl Box CD Cloth Laptop Mug "
    "RemoteControl SprayBottle TennisRacket ToiletPaper",
    "Fridge": f"{_FOOD} {_CROCKERY} Glassbottle Pan Pot WineBottle",
    "GarbageCan": f"{_FOOD} CD Cloth DishSponge HandTowel Newspaper Pen Pencil SoapBar SoapBottle "
    "SprayBottle TissueBox ToiletPaper WineBottle",
    "HandTowelHolder": "HandTowel",
    "LaundryHamper": "Cloth",
    "Microwave": f"{_CROCKERY} Apple Bread Egg Glassbottle Potato Tomato",
    "Ottoman": _SEAT,
    "Safe": "CD CellPhone CreditCard KeyChain Statue Vase",
    "Shelf": f"{_BATH} {_BOTTLES} {_SHAKERS} {_POCKET} {_WRITING} {_DECOR} AlarmClock Bowl Box CD "
    "Cup DishSponge Kettle Mug Plate Pot RemoteControl",
    "SideTable": f"{_TABLETOP} BaseballBat BasketBall Cloth TennisRacket",
    "SinkBasin": f"{_CROCKERY} {_CUTLERY} Apple Cloth DishSponge Egg Glassbottle HandTowel Kettle "
    "Lettuce Pan Pot Potato SoapBar Tomato",
    "Sofa": _SEAT,
    "StoveBurner": "Kettle Pan Pot",
    "TVStand": f"{_POCKET} Laptop Newspaper RemoteControl Statue TissueBox Vase",
    "Toaster": "",
    "Toilet": f"{_BATH} Candle DishSponge TissueBox",
    "ToiletPaperHanger": "ToiletPaper",
    "TowelHolder": "Towel",
}
FITS: Mapping[str, frozenset[str]] = {r: frozenset(o.split()) for r, o in _FITS.items()}
"""Receptacle type -> item types that may be put into or onto it."""

ROOM_ITEMS: Mapping[RoomKind, tuple[str, ...]] = {
    "kitchen": tuple(
        f"{_CROCKERY} {_FOOD} {_CUTLERY} {_BOTTLES} {_SHAKERS} DishSponge Kettle Pan Pot Vase "
        "Statue Book CreditCard CellPhone".split()
    ),
    "bedroom": tuple(
        f"{_POCKET} AlarmClock BaseballBat BasketBall Book Bowl Box CD Cloth Laptop Mug Pen Pencil "
        "Pillow RemoteControl Statue TennisRacket TissueBox Vase".split()
    ),
    "bathroom": tuple(f"{_BATH} Candle DishSponge TissueBox Towel".split()),
    "livingroom": tuple(
        f"{_POCKET} {_WRITING} {_DECOR} Bowl Box Laptop Pillow Plate RemoteControl".split()
    ),
}
"""Kind of room -> item types that lie around in it, lamps apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to furnish a kind of room.

    Attributes:
        name: E.g. "kitchen-galley".
        kind: The kind of room.
        furniture: Receptacle type -> (fewest, most) of it in a room of full size.
    """

    name: str
    kind: RoomKind
    furniture: Mapping[str, tuple[int, int]]


def _variant(kind: RoomKind, style: str, furniture: str) -> Variant:
    """Read "Cabinet:8-16 Fridge": one type a word, (1, 1) of it when no numbers follow."""
    counts: dict[str, tuple[int, int]] = {}
    for word in furniture.split():
        type_, _, span = word.partition(":")
        low, _, high = (span or "1").partition("-")
        counts[type_] = int(low), int(high or low)
    return Variant(name=f"{kind}-{style}", kind=kind, furniture=counts)


_COOKING = "Fridge Microwave SinkBasin CoffeeMachine Toaster GarbageCan"

VARIANTS: tuple[Variant, ...] = (
    _variant(
        "kitchen", "fitted", f"{_COOKING} Cabinet:9-16 Drawer:4-8 CounterTop:2-3 StoveBurner:4"
    ),
    _variant(
        "kitchen",
        "dining",
        f"{_COOKING} Cabinet:7-13 Drawer:3-6 CounterTop:1-2 DiningTable StoveBurner:4",
    ),
    _variant(
        "kitchen",
        "shelved",
        f"{_COOKING} Cabinet:6-11 Drawer:3-7 CounterTop:1-2 Shelf:2-4 "
        "StoveBurner:4 DiningTable:0-1",
    ),
    _variant("bedroom", "study", "Bed Desk Drawer:4-8 Shelf:2-4 SideTable:1-2 GarbageCan"),
    _variant(
        "bedroom",
        "plain",
        "Bed:1-2 Dresser Drawer:3-9 SideTable:1-2 ArmChair:0-1 Shelf:0-2 GarbageCan",
    ),
    _variant(
        "bedroom", "safe", "Bed Desk Dresser:0-1 Drawer:4-8 Safe SideTable:0-2 Shelf:1-3 GarbageCan"
    ),
    _variant(
        "bathroom",
        "tub",
        "BathtubBasin Toilet SinkBasin:1-2 CounterTop Cabinet:2-4 "
        "Drawer:0-3 HandTowelHolder:1-2 TowelHolder ToiletPaperHanger GarbageCan",
    ),
    _variant(
        "bathroom",
        "shower",
        "Toilet SinkBasin:1-2 CounterTop Cabinet:1-4 Drawer:2-5 "
        "Shelf:0-2 HandTowelHolder:1-2 TowelHolder:1-2 ToiletPaperHanger GarbageCan",
    ),
    _variant(
        "livingroom",
        "sofas",
        "Sofa:1-2 ArmChair:1-2 CoffeeTable Drawer:2-6 SideTable:1-2 Shelf:1-4 TVStand GarbageCan",
    ),
    _variant(
        "livingroom",
        "dining",
        "Sofa ArmChair:1-3 CoffeeTable DiningTable Drawer:2-5 SideTable:1-2 Cabinet:0-3 GarbageCan",
    ),
)
"""Rooms of the splits train and valid_seen."""

UNSEEN_VARIANTS: tuple[Variant, ...] = (
    _variant(
        "kitchen",
        "studio",
        f"{_COOKING} Cabinet:5-10 Drawer:2-6 CounterTop:1-2 "
        "SideTable:1-2 Shelf:1-3 StoveBurner:2-4 Safe:0-1",
    ),
    _variant(
        "kitchen",
        "island",
        f"{_COOKING} Cabinet:8-14 Drawer:6-12 CounterTop:3-4 "
        "DiningTable:1-2 SideTable StoveBurner:6",
    ),
    _variant(
        "bedroom",
        "guest",
        "Bed:2 Dresser:1-2 Drawer:2-6 SideTable:2 ArmChair:1-2 Safe LaundryHamper GarbageCan",
    ),
    _variant(
        "bedroom",
        "loft",
        "Bed Desk:2 Drawer:5-9 Shelf:4-6 SideTable DiningTable:0-1 Cabinet:0-2 GarbageCan",
    ),
    _variant(
        "bathroom",
        "cart",
        "Toilet SinkBasin CounterTop Cart Cabinet:1-3 Shelf:1-3 "
        "SideTable:0-1 HandTowelHolder TowelHolder ToiletPaperHanger GarbageCan:1-2",
    ),
    _variant(
        "bathroom",
        "dresser",
        "BathtubBasin Toilet SinkBasin:1-2 Dresser Drawer:3-6 Shelf:2 "
        "CounterTop:0-1 HandTowelHolder:2 TowelHolder:1-2 ToiletPaperHanger GarbageCan",
    ),
    _variant(
        "livingroom",
        "lounge",
        "Sofa:2 Ottoman:1-2 CoffeeTable:2 Dresser Drawer:2-4 SideTable:2 Shelf:2-5 GarbageCan",
    ),
    _variant(
        "livingroom",
        "office",
        "Sofa Desk ArmChair:2 SideTable:1-2 Safe Drawer:3-7 Shelf:3-6 "
        "CoffeeTable:0-1 TVStand GarbageCan",
    ),
)
"""Rooms of the split valid_unseen; no other split has them."""
