"""Juniper Junos: the version that fakenos ships, and a configuration of lines that begin with "set", which a commit replaces as a whole."""

import copy
import re

from devices import Device, Lines, shipped, Table

NAME = "juniper_junos"
INITIAL_PROMPT = EXEC = "lab@{base_prompt}> "
DEVICE_NAME = "Device"
CONFIG = "[edit]\nlab@{base_prompt}# "

lines = Lines("""
set version 18.4R1.8
set system host-name dut
set system root-authentication encrypted-password "$6$mIxsGq0u$6qHzXFlBXDOTtEaTPLvVxZbOXZbVaFdWZ1yl5C0mEh4"
set system services ssh
set snmp community public authorization read-only
set interfaces ge-0/0/0 mtu 9200
set interfaces ge-0/0/0 unit 0 family inet address 198.18.1.1/24
set interfaces ge-0/0/1 unit 0 family inet address 198.18.2.1/24
set interfaces em0 unit 0 family inet address 192.0.2.10/24
set routing-options static route 198.18.100.0/24 next-hop 198.18.1.9
""", [], 1, end=())

# What the device accepts behind "set", and what it keeps for lines that it writes in another way.
accepted = {line.removeprefix("set "): None for line in lines.first}
accepted.update({
    "snmp community hunter2 authorization read-only": None,
    "interfaces ge-0/0/0 mtu 9000": None,
    "interfaces ge-0/0/0 unit 0 family inet filter input filter": None,
    "routing-options static route 198.18.9.1/24 next-hop 198.18.1.9": "routing-options static route 198.18.9.0/24 next-hop 198.18.1.9",
    **{f"routing-options static route 198.18.{i}.0/24 next-hop 198.18.1.9": None for i in range(30)},
    **{f"firewall family inet filter filter term {i} from source-address 198.18.{i}.0/24": None for i in range(256)},
})
# Contexts that stay, without anything in them, when the last line of theirs is deleted; the innermost first.
CONTEXTS = [re.compile(form) for form in (
    r"interfaces \S+ unit \d+ family inet(?= )", r"interfaces \S+ unit \d+(?= )", r"interfaces \S+(?= )",
    r"firewall family inet filter \S+ term \S+(?= )", r"firewall family inet filter \S+(?= )",
)]
# Statements with one value.
LEAF = re.compile(r"(interfaces \S+ mtu) ")


def under(tree, path):
    """Returns the lines of a statement and of what is in it."""
    return [line for line in tree if line == "set " + path or line.startswith("set " + path + " ")]


def assign(path):
    tree = lines.candidate
    if leaf := LEAF.match(path):
        for line in under(tree, leaf.group(1)):
            del tree[line]
    for line in list(tree):
        if ("set " + path).startswith(line + " "):
            del tree[line]  # A context that is not empty any more.
    tree.setdefault("set " + path, {})
    return "", None


def delete(path):
    tree = lines.candidate
    found = under(tree, path)
    if not found:
        return "warning: statement not found", None
    for line in found:
        del tree[line]
    for form in CONTEXTS:
        context = form.match(path)
        if context and not under(tree, context.group()):
            tree["set " + context.group()] = {}
            break
    return "", None


# The configurations before earlier commits, the latest last.
former = []


def end():
    """Takes a commit back that got no confirmation in time. That is a commit of its own, before which the rejected configuration was."""
    rejected = lines.running
    if lines.replaced is not None and not lines.waits():
        former.append(rejected)


def previous():
    """Returns the configuration to which "rollback 1" goes back."""
    end()
    if lines.replaced is not None:
        return lines.replaced
    return former[-1] if former else lines.running


def load(tree):
    lines.candidate = copy.deepcopy(tree)
    return "load complete", None


def enter():
    load(lines.running)
    return "warning: uncommitted changes will be discarded on exit\nEntering configuration mode\n", CONFIG


def leave():
    lines.candidate = None
    return "Exiting configuration mode\n", EXEC


def commit():
    end()
    former.append(lines.replaced if lines.replaced is not None else lines.running)
    lines.running, lines.replaced = copy.deepcopy(lines.candidate), None
    lines.saved()
    return "commit complete\n", None


def confirmed():
    lines.commit(120)
    lines.shown()
    load(lines.running)
    return "commit confirmed will be automatically rolled back in 2 minutes unless confirmed\ncommit complete\n\n# commit confirmed will be rolled back in 2 minutes\n", None


def log():
    end()
    pending = " commit confirmed, rollback in 2mins" if lines.waits() else ""
    lines.shown()
    return "0   2026-11-28 09:12:01 UTC by lab via cli" + pending + "\n1   2026-11-27 17:03:22 UTC by lab via cli\n", None


def running():
    end()
    return lines.show(), None


table = Table("                ^\nsyntax error.", shipped("juniper_junos"))
table.prints([EXEC], "set cli complete-on-space off", "set cli screen-length 0", "set cli screen-width 0")
table.on(EXEC, "show configuration | display set", running)
table.on(EXEC, "show system commit", log)
table.on(EXEC, "test expire", lines.expire)
table.on(EXEC, "configure exclusive", enter)
table.on(CONFIG, "run show configuration | display set", running)
table.on(CONFIG, "run show system commit", log)
table.on(CONFIG, "show | display set", lambda: (lines.show(lines.candidate), None))
table.on(CONFIG, "show | compare", lambda: (lines.compare(), None))
table.on(CONFIG, "rollback 0", lambda: load(lines.running))
table.on(CONFIG, "rollback 1", lambda: load(previous()))
table.on(CONFIG, "commit", commit)
table.on(CONFIG, "commit confirmed 2", confirmed)
table.on(CONFIG, "exit", leave)
deletable = set()
for path, kept in accepted.items():
    table.on(CONFIG, "set " + path, lambda kept=kept or path: assign(kept))
    deletable.update([kept or path] + [context.group() for form in CONTEXTS if (context := form.match(path))])
for path in deletable:
    table.on(CONFIG, "delete " + path, lambda path=path: delete(path))
commands = table.finish()
