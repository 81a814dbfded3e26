"""The first state of the home directory, and the commands that tasks take for granted."""

import os
import shutil

HOME = "/home/user"
FOLDERS = ("Desktop", "Documents", "Downloads", "Music", "Pictures", "Videos", ".config")


def fill(home=HOME):
    """Write folders, and settings that keep first-start dialogs away."""
    for name in FOLDERS:
        os.makedirs(os.path.join(home, name), exist_ok=True)
    for path, text in _SETTINGS.items():
        write(os.path.join(home, path), text)


def clear(folders):
    """Remove what is in some folders, and keep X's sockets."""
    for folder in folders:
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if name.startswith((".X", ".ICE")):
                continue
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True, onerror=None)
                _force(path)
            else:
                os.remove(path)


def _force(path):
    """Remove a folder that its owner has locked."""
    if not os.path.isdir(path):
        return
    for folder, _, _ in os.walk(path):
        os.chmod(folder, 0o700)
    shutil.rmtree(path)


def write_commands(folder):
    """Write commands by the names that OSWorld's images have."""
    for name, text in _COMMANDS.items():
        write(os.path.join(folder, name), "#!/bin/sh\n" + text)
        os.chmod(os.path.join(folder, name), 0o755)


def write(path, text):
    """Write a text, folders included."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _registry(*items):
    rows = "".join(
        f'<item oor:path="/org.openoffice.{path}"><prop oor:name="{name}" oor:op="fuse">'
        f"<value>{value}</value></prop></item>"
        for path, name, value in items
    )
    space = "http://openoffice.org/2001/registry"
    return f'<?xml version="1.0"?><oor:items xmlns:oor="{space}">{rows}</oor:items>'


_BIND = '<keybind key="{}"><action name="{}"/></keybind>'
_KEYS = "".join(
    _BIND.format(*pair)
    for pair in (("A-Tab", "NextWindow"), ("A-F4", "Close"), ("A-F10", "Maximize"))
)
_CLICK = '<action name="Focus"/><action name="Raise"/>'
_SETTINGS = {
    ".config/libreoffice/4/user/registrymodifications.xcu": _registry(
        ("Office.Common/Misc", "ShowTipOfTheDay", "false"),
        ("Office.Common/Misc", "FirstRun", "false"),
        ("Office.Common/Save/Document", "WarnAlienFormat", "false"),
        ("Office.Common/Save/Document", "AutoSave", "false"),
        ("Office.Recovery/RecoveryInfo", "Enabled", "false"),
        ("Office.Impress/Misc/Start", "AutoPilot", "false"),
        ("Office.Impress/Misc", "NewDoc/AutoPilot", "false"),
        ("Setup/Product", "ooSetupLastVersion", "7.4"),
        ("Setup/Product", "LastTimeGetInvolvedShown", "4000000000"),
        ("Setup/Product", "LastTimeDonateShown", "4000000000"),
    ),
    ".config/vlc/vlcrc": "[qt]\nqt-privacy-ask=0\nmetadata-network-access=0\n",
    ".config/mimeapps.list": (
        "[Default Applications]\ntext/plain=org.xfce.mousepad.desktop\n"
        "text/html=chromium.desktop\ninode/directory=pcmanfm.desktop\n"
    ),
    ".config/libfm/libfm.conf": "[config]\nsingle_click=0\nquick_exec=1\n",
    ".config/openbox/rc.xml": (
        '<?xml version="1.0"?><openbox_config xmlns="http://openbox.org/3.4/rc">'
        "<theme><name>Clearlooks</name></theme><desktops><number>1</number></desktops>"
        f'<keyboard>{_KEYS}<keybind key="C-A-t"><action name="Execute">'
        "<command>xfce4-terminal</command></action></keybind></keyboard><mouse>"
        '<context name="Client"><mousebind button="Left" action="Press">'
        f'{_CLICK}</mousebind><mousebind button="Right" action="Press">{_CLICK}</mousebind>'
        '</context><context name="Titlebar"><mousebind button="Left" action="Press">'
        f'{_CLICK}</mousebind><mousebind button="Left" action="Drag"><action name="Move"/>'
        '</mousebind><mousebind button="Left" action="DoubleClick">'
        '<action name="ToggleMaximize"/></mousebind></context><context name="Close">'
        '<mousebind button="Left" action="Click"><action name="Close"/></mousebind></context>'
        '<context name="Maximize"><mousebind button="Left" action="Click">'
        '<action name="ToggleMaximize"/></mousebind></context><context name="Iconify">'
        '<mousebind button="Left" action="Click"><action name="Iconify"/></mousebind></context>'
        "</mouse></openbox_config>"
    ),
}
_CHROME = (
    "exec /usr/bin/chromium --no-sandbox --test-type --no-first-run --no-default-browser-check "
    "--disable-dev-shm-usage --disable-gpu --password-store=basic --force-renderer-accessibility "
    '--user-data-dir="$HOME/.config/google-chrome" "$@"\n'
)
_COMMANDS = {
    "python": 'exec /usr/bin/python3 "$@"\n',
    "google-chrome": _CHROME,
    "google-chrome-stable": _CHROME,
    "chromium": _CHROME,
    "chromium-browser": _CHROME,
    "gnome-terminal": "exec xfce4-terminal\n",
    "nautilus": 'exec pcmanfm --no-desktop "$@"\n',
    "gedit": 'exec mousepad --disable-server "$@"\n',
    # OSWorld's Chrome is a process called chrome, this one is called chromium. Its settings are
    # on the disk only once it has ended.
    "pkill": (
        '[ "$*" = chrome ] || exec /usr/bin/pkill "$@"\n/usr/bin/pkill -o -x chromium\n'
        "for _ in $(seq 100); do /usr/bin/pgrep -x chromium >/dev/null || exit 0; sleep 0.1; done\n"
    ),
}
