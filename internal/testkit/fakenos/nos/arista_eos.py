"""Arista EOS: the configuration and the version that fakenos ships, and a configure session of the name nodrop."""

from devices import Device, entries, Lines, shipped, Table, template

NAME = "arista_eos"
INITIAL_PROMPT = EXEC = "{base_prompt}#"
DEVICE_NAME = "Device"
SESSION = "{base_prompt}(config-s-nodrop)#"

lines = Lines(template("arista_eos", "show_running-config"), ["! Command: show running-config", "!"], 3)
completed = []


def inside(mode):
    return SESSION.replace(")", "-" + mode + ")")


def show():
    lines.waits()
    return lines.show(), None


table = Table("% Invalid input", {**shipped("arista_eos"), "show version": {"output": template("arista_eos", "show_version")}})
table.prints([EXEC], "terminal width 32767")
table.on(EXEC, "show running-config", show)
table.mode(lines, SESSION, [], {
    "ntp server 1.1.1.1": None,
    "snmp-server community hunter2 ro": None,
    **entries("ip route 198.18.{i}.0/24 198.18.1.9", range(30)),
    "ip route 198.18.9.1/24 198.18.1.9": "ip route 198.18.9.0/24 198.18.1.9",
    "ip access-list filter": (inside("acl-filter"), entries("{n} deny ip 198.18.{i}.0/24 any", range(256))),
    "interface Ethernet1": (inside("if-Et1"), {"mtu 9200": None, "mtu 9000": None, "ip access-group filter in": None}),
    "interface Loopback3": (inside("if-Lo3"), {"description Customer #56924 service": None, "ip address 1.2.3.4/24": None}),
}, EXEC, EXEC)


def enter():
    if completed:
        return "% Cannot enter session nodrop (already completed)", None
    lines.begin()
    return "", SESSION


def delete():
    if completed:
        completed.clear()
    elif lines.candidate is not None:
        lines.candidate = None
    else:
        return "% Cannot delete non-existent session nodrop", None
    return "", None


def abort():
    if lines.waits():
        lines.revert()
    elif lines.candidate is not None:
        lines.candidate = None
    else:
        return "% Cannot abort session nodrop (not pending)", None
    return "", None


def confirm():
    if not lines.waits():
        return "% Cannot commit session nodrop (no pending commit timer)", None
    lines.confirm()
    return "", None


def commit():
    lines.commit(120)
    completed.append(True)
    return "", EXEC


def sessions():
    text = "Maximum number of completed sessions: 1\nMaximum number of pending sessions: 5\n\n"
    if lines.waits():
        text += "Session with pending commit timer: nodrop\nTime left until commit timer expiry: in 0:01:59\n\n"
    text += "  Name    State      User  Terminal\n  ------- ---------- ----- --------\n"
    if lines.candidate is not None or completed:
        text += "  nodrop  " + ("pending" if lines.candidate is not None else "completed") + "\n"
    return text, None


table.on(EXEC, "configure session nodrop", enter)
table.on(EXEC, "no configure session nodrop", delete)
table.on(EXEC, "configure session nodrop abort", abort)
table.on(EXEC, "configure session nodrop commit", confirm)
table.on(EXEC, "show configuration sessions detail", sessions)
table.on(SESSION, "show session-config", lambda: (lines.show(lines.candidate), None))
table.on(SESSION, "show session-config diffs", lambda: (lines.compare(), None))
table.on(SESSION, "commit timer 00:02:00", commit)
commands = table.finish()
