"""Nokia SR Linux: an emulation from public documentation, with no part of the device.

It has a private candidate that outlives its session, a commit with a timer, its acceptance and rejection, and the list of commits. Sources: Configuration
Basics Guide (documentation.nokia.com/srlinux), Configuration management; the YANG module srl_nokia-configuration; prompts, messages and outputs as the
documentation and the tests of containerlab, napalm-srlinux and scrapli have them. Messages of invalid commits are our own.
"""

from devices import Device, Lines, Table

NAME = "nokia_srl"
DEVICE_NAME = "Device"
# "+" shows that the configuration is not saved, and "*" that the candidate has changes.
RUNNING, UNSAVED = (f"--{{{{ {flag}running }}}}--[  ]--\nA:admin@{{base_prompt}}# " for flag in ("", "+ "))
CANDIDATE, CHANGED = (f"--{{{{ {flag}candidate private nodrop }}}}--[  ]--\nA:admin@{{base_prompt}}# " for flag in ("", "* "))
INITIAL_PROMPT = RUNNING

# Statements, with "{" behind each context.
FIRST = [
    'interface ethernet-1/1 { description "to the tester"',
    "interface ethernet-1/1 { mtu 9200",
    "interface ethernet-1/1 { subinterface 0 { ipv4 { admin-state enable",
    "interface ethernet-1/1 { subinterface 0 { ipv4 { address 198.18.1.1/24 {",
    "interface ethernet-1/2 { subinterface 0 { ipv4 { address 198.18.2.1/24 {",
    "interface mgmt0 { subinterface 0 { ipv4 { address 192.0.2.10/24 {",
    "network-instance default { interface ethernet-1/1.0 {",
    "network-instance default { protocols { bgp { group tester { export-policy [ first second ]",
    "network-instance default { static-routes { route 198.18.100.0/24 { next-hop-group tester",
    "network-instance mgmt { interface mgmt0.0 {",
    "system { aaa { authentication { admin-user { password $y$j9T$c0b094a538ddae13$GtCdwrCxDIrMhva6AtwPrXBR9YKFj4Gkr3RhaqRBstB",
    "system { name { host-name dut",
    "system { snmp { access-group lab { community-entry ro { community $aes1$AWAdu4eU6gBcGG8=$5e7xP9EPZNMu4yweZDHwXA==",
    'system { tls { server-profile lab { certificate "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ0\n-----END CERTIFICATE-----"',
]
# Statements that the device accepts besides, and what it keeps for those that it writes in another way.
ACCEPTED = {
    "interface ethernet-1/1 { mtu 9000": None,
    "interface ethernet-1/1 { subinterface 0 { acl { input { ipv4-filter filter": None,
    "network-instance default { interface ethernet-1/9.0 {": None,
    "network-instance default { protocols { bgp { group tester { export-policy [ second ]": None,
    "system { snmp { access-group lab { community-entry ro { community $aes1$hunter2": None,
    "network-instance default { static-routes { route 198.18.9.1/24 { next-hop-group tester":
        "network-instance default { static-routes { route 198.18.9.0/24 { next-hop-group tester",
    **{f"network-instance default {{ static-routes {{ route 198.18.{i}.0/24 {{ next-hop-group tester": None for i in range(30)},
    **{f"acl {{ acl-filter filter type ipv4 {{ entry {i} {{ match {{ ipv4 {{ source-ip {{ prefix 198.18.{i}.0/24": None for i in range(256)},
}


def split(statement):
    """Returns the contexts of a statement, with "{", and the leaf, which is empty for a context without one."""
    *contexts, leaf = statement.split(" {")
    return [context.strip() + " {" for context in contexts], leaf.strip()


def flat(statement):
    """Returns a statement as "set" reads it."""
    return statement.replace(" {", "")


class Tree(Lines):
    """A configuration with braces."""

    def __init__(self):
        super().__init__("", [], 4, end=())
        for statement in FIRST:
            assign(self.running, statement)
        self.commits = []
        self.saved()

    def show(self, tree=None):
        return "\n".join(braces(self.running if tree is None else tree, "    "))

    def waits(self):
        if super().waits():
            return True
        for commit in self.commits:
            if commit["status"] == "unconfirmed":
                commit["status"] = "failed"
        return False


def braces(tree, indent):
    """Yields lines in an order of their own, as a device prints them."""
    for line, children in sorted(tree.items()):
        if line.endswith(" ]"):  # A list has a line for each value.
            name, values = line.removesuffix(" ]").split(" [ ")
            yield from [indent + name + " [", *(indent + "    " + value for value in values.split()), indent + "]"]
            continue
        yield indent + line
        if line.endswith("{"):
            yield from braces(children, indent + "    ")
            yield indent + "}"


def assign(tree, statement):
    """Adds a statement. A leaf has one value; a list of values gets more."""
    contexts, leaf = split(statement)
    for context in contexts:
        tree = tree.setdefault(context, {})
    if not leaf:
        return
    name = leaf.split(" ")[0]
    for line in [line for line in tree if line.split(" ")[0] == name and not line.endswith("{")]:
        del tree[line]
        if leaf.endswith("]"):
            values = dict.fromkeys(line[len(name) + 3:-2].split() + leaf[len(name) + 3:-2].split())
            leaf = name + " [ " + " ".join(values) + " ]"
    tree[leaf] = {}


def delete(contexts, name):
    """Deletes a leaf by its name, or the last context, and the containers that are empty then: these have no key."""
    trees = [lines.candidate]
    for context in contexts:
        if context not in trees[-1]:
            return "", CHANGED
        trees.append(trees[-1][context])
    for line in [line for line in trees[-1] if name and line.split(" ")[0] == name and not line.endswith("{")]:
        del trees[-1][line]
    if not name:
        del trees[-2][contexts[-1]]
        contexts, trees = contexts[:-1], trees[:-1]
    for context, tree, outer in zip(reversed(contexts), reversed(trees[1:]), reversed(trees[:-1])):
        if tree or context.count(" ") > 1:
            break
        del outer[context]
    return "", CHANGED


lines = Tree()


def enter():
    if lines.candidate is not None:
        return "Candidate 'nodrop' is not empty", CHANGED
    lines.begin()
    return "", CANDIDATE


def discard():
    empty = lines.candidate in (None, lines.running)
    lines.candidate = None
    text = "Nothing to discard." if empty else "All changes have been discarded."
    return text + " Leaving candidate mode.", UNSAVED if lines.commits else RUNNING


def commit():
    if lines.waits():
        return "Error: Cannot commit transaction (commit confirmed in progress)", None
    instance = lines.candidate.get("network-instance default {", {})
    if "interface ethernet-1/9.0 {" in instance:
        return "Validation error: /network-instance[name=default]/interface[name=ethernet-1/9.0]: the subinterface does not exist", None
    lines.commit(120)
    lines.commits.append({"type": "private", "name": "nodrop", "status": "unconfirmed", "username": "admin"})
    lines.shown()
    return "Commit confirmed (automatic rollback in 2 minutes)\nAll changes have been committed. Leaving candidate mode.", UNSAVED


def finish(status):
    if not lines.waits():
        return "Error: No commit confirmed in progress", None
    if status == "complete":
        lines.confirm()
    else:
        lines.revert()
    lines.commits[-1]["status"] = status
    return "", None


def running():
    lines.waits()
    return lines.show(), None


def commits():
    lines.waits()
    text = []
    for i, entry in enumerate(lines.commits):
        text += [f"            commit {i + 1} {{", *(f"                {name} {value}" for name, value in entry.items()), "            }"]
    lines.shown()
    return "\n".join(["    system {", "        configuration {", *text, "        }", "    }"]), None


def diff():
    before, after = (flattened(tree) for tree in (lines.running, lines.candidate))
    return "\n".join(["delete / " + line for line in before if line not in after] + ["insert / " + line for line in after if line not in before]), None


def flattened(tree, path=""):
    found = []
    for line, children in tree.items():
        inner = flattened(children, path + line.removesuffix(" {") + " ")
        found += inner or [path + line.removesuffix(" {")]
    return found


OPERATIONAL, EDITING = (RUNNING, UNSAVED), (CANDIDATE, CHANGED)
table = Table("Parsing error: Unknown token. Options are ['#', '/', '>', 'delete', 'diff', 'info', 'set', '|']", {
    "show version": {"output": """----------------------------------------------------
Hostname             : dut
Chassis Type         : 7220 IXR-D2L
Part Number          : Sim Part No.
Serial Number        : Sim Serial No.
System HW MAC Address: 02:00:6B:FF:00:00
OS                   : SR Linux
Software Version     : v24.10.1
Build Number         : 492-gf8858c5836
Architecture         : x86_64
Last Booted          : 2026-11-28T09:12:01.000Z
Total Memory         : 24052875 kB
Free Memory          : 21911906 kB
----------------------------------------------------"""},
})
table.prints(OPERATIONAL, "environment cli-engine type basic", "environment complete-on-space false")
for prompt in OPERATIONAL + EDITING:
    table.on(prompt, "info from running /", running)
    table.on(prompt, "info from state system configuration commit *", commits)
    table.on(prompt, "enter candidate private name nodrop", enter)
    table.on(prompt, "tools system configuration confirmed-accept", lambda: finish("complete"))
    table.on(prompt, "tools system configuration confirmed-reject", lambda: finish("failed"))
    table.on(prompt, "test expire", lines.expire)
for prompt in EDITING:
    table.on(prompt, "info /", lambda: (lines.show(lines.candidate), None))
    table.on(prompt, "diff flat", diff)
    table.on(prompt, "discard now", discard)
    table.on(prompt, "commit confirmed timeout 120", commit)
    for statement, kept in {**dict.fromkeys(FIRST), **ACCEPTED}.items():
        table.on(prompt, "set / " + flat(statement), lambda kept=kept or statement: (assign(lines.candidate, kept) or "", CHANGED))
        contexts, leaf = split(kept or statement)
        paths = [(contexts[:i + 1], "") for i in range(len(contexts))] + [(contexts, leaf.split(" ")[0])]
        for path, name in paths:
            line = "delete / " + flat(" ".join(path)) + " " + name
            table.on(prompt, line.strip(), lambda path=path, name=name: delete(path, name))
commands = table.finish()
