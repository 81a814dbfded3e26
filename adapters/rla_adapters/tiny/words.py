"""The closed vocabulary of the embedded models: what an ALFWorld game can say, as single words.

A word-level model has one token a word, so a prompt of the compact view is a few dozen tokens long.
Callers add the words of their own prompts and replies with ``words_in``; a word that is in neither
list becomes ``<unk>``.
"""

from __future__ import annotations

from collections.abc import Iterable

from rla_adapters.tiny.tokenizer import split_words

OBJECTS = """
alarmclock apple armchair baseballbat basketball bathtub blinds book boots bowl box bread
butterknife candle cd cellphone chair cloth creditcard cup curtains desklamp dishsponge egg
floorlamp footstool fork glassbottle handtowel houseplant kettle keychain knife ladle laptop
laundryhamperlid lettuce lightswitch mirror mug newspaper painting pan papertowel papertowelroll pen
pencil peppershaker pillow plate plunger poster pot potato remotecontrol saltshaker scrubbrush
showerdoor showerglass sink soapbar soapbottle spatula spoon spraybottle statue stoveknob teddybear
television tennisracket tissuebox toiletpaper toiletpaperroll tomato towel vase watch wateringcan
window winebottle
"""
"""ALFRED's object classes in lower case."""

RECEPTACLES = """
armchair bathtub bathtubbasin bed cabinet cart coffeemachine coffeetable countertop desk diningtable
drawer dresser fridge garbagecan handtowelholder laundryhamper microwave ottoman paintinghanger safe
shelf sidetable sink sinkbasin sofa stoveburner toaster toilet toiletpaperhanger towelholder tvstand
"""
"""ALFRED's receptacle classes in lower case."""

COMMANDS = """
go to open close take from move put in/on use heat cool clean slice examine with look inventory help
"""
"""The words of every command that is not a name."""

PROSE = """
a about after again already an and another any are arrive arrived as at bad be because been before
better but by cannot carry carrying checked clean closed cold contains cool did do does done each
else empty examined far find first for found full goal good half hand has have held here hidden
holding hot how i if in inside into is it item its just known last left light lit look looked
looking made many middle moves must near need needed needs new next no none not nothing now object
of off old on one only opened or other out picked place placed places plan progress put quickly
ready reason receptacle right room same see seen should so some something somewhere sliced states
step still subtask switched take task than that the their them then there they thing things this
toggled too tool towards turn turned twice two under undo undone unknown unopened unseen useful
useless using visit visited want was wasted were what when where which while will without wrong yet
you your happens happened useful helps helped reveals revealed searched search shows new heated
cooled cleaned nothing lower higher goals facing around quickly except
"""
"""Function words of views, observations and judges' reasons."""

PUNCTUATION = r". , : ; ! ? ( ) [ ] | / - + = > < ' * \boxed{+1} \boxed{-1}"
"""Marks; the boxed verdicts are one token each, so that a verdict is never half written."""

NUMBERS = " ".join(str(number) for number in range(61))
"""Instance numbers and counters."""


def alfworld_words() -> list[str]:
    """Return the closed vocabulary of ALFWorld, each word once, in a fixed order."""
    return words_in([OBJECTS, RECEPTACLES, COMMANDS, NUMBERS, PUNCTUATION, PROSE])


def words_in(texts: Iterable[str]) -> list[str]:
    """Return every word of texts once, by first appearance, split as the tokenizer does."""
    return list(dict.fromkeys(word for text in texts for word in split_words(text)))
