"""Devices for fakenos that keep what is configured.

fakenos looks a line up in a table, and writes what the table has for the prompt of the session: a text, or what a function returns. These
tables have the lines that a device accepts; fakenos answers all others with the message of the vendor. The functions keep one configuration
for all sessions, as a device does.
"""

import copy
import difflib
import os
import queue
import re
import socket
import time

import jinja2
import yaml

import fakenos
import fakenos.plugins.servers.ssh_server_paramiko as server

PLATFORMS = os.path.join(os.path.dirname(fakenos.__file__), "plugins", "nos")
RUNNING = os.environ["NODROP_RUNNING"]  # The file that always has the configuration.


class Tap:
    """Text between a channel and the shell. fakenos looks for it every 10 ms; this waits for it."""

    def __init__(self, run_srv):
        self.texts = queue.SimpleQueue()

    def write(self, text):
        self.texts.put(text)

    def flush(self):
        """Marks the end of what the shell prints before it reads."""
        self.texts.put(None)

    def readline(self):
        """Returns a line, or the empty text at the end of the channel."""
        return self.texts.get()

    def available(self):
        """Returns what was written, up to the mark, and whether that was reached; after a second without either, nothing."""
        texts = []
        try:
            while (text := self.texts.get(timeout=1)) is not None:
                texts.append(text)
            return "".join(texts), True
        except queue.Empty:
            return "".join(texts), False


def replied(event, run_srv):
    """Waits until the prompt was sent, or the session ends."""
    while run_srv.is_set() and not event.wait(1):
        pass


def from_channel(channel_stdio, shell_stdin, shell_replied_event, run_srv):
    """Echoes what the channel sends, and has the shell run its lines. fakenos echoes byte by byte with a pause of 10 ms after each, and goes
    on after the first line of an answer. This echoes after the prompt, as a device does."""
    channel = channel_stdio.channel
    channel.transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line = ""
    try:
        while data := channel.recv(4096):
            for text in re.findall("[^\n]+|\n", data.decode().replace("\r", "\n")):
                replied(shell_replied_event, run_srv)
                if text != "\n":
                    channel.sendall(text.encode())
                    line += text
                    continue
                channel.sendall(b"\r\n")
                shell_replied_event.clear()
                shell_stdin.write(line + text)
                line = ""
        replied(shell_replied_event, run_srv)
    except (OSError, EOFError):
        pass  # The connection has ended.
    shell_stdin.write("")


def to_channel(channel_stdio, shell_stdout, shell_replied_event, run_srv):
    """Sends what the shell prints."""
    try:
        while run_srv.is_set():
            text, reads = shell_stdout.available()
            channel_stdio.channel.sendall(text.replace("\r", "").replace("\n", "\r\n").encode())
            if reads:
                shell_replied_event.set()
    except (OSError, EOFError):
        pass  # The connection has ended.
    finally:
        shell_replied_event.set()


server.TapIO, server.channel_to_shell_tap, server.shell_to_channel_tap = Tap, from_channel, to_channel


def shipped(platform):
    """Returns the commands that fakenos has for a platform, but for modes that these devices have themselves."""
    with open(os.path.join(PLATFORMS, "platforms_yaml", platform + ".yaml"), encoding="utf-8") as f:
        commands = yaml.safe_load(f)["commands"]
    return {line: {"output": c["output"]} for line, c in commands.items() if "new_prompt" not in c and "alias" not in c}


def template(platform, name):
    """Returns an output that fakenos has for a platform."""
    with open(os.path.join(PLATFORMS, "platforms_py", "templates", platform, name + ".j2"), encoding="utf-8") as f:
        return jinja2.Template(f.read()).render(base_prompt="dut")


def parse(text):
    """Reads lines whose contexts are indented into dictionaries."""
    root = {}
    stack = [(-1, root)]
    for line in text.splitlines():
        content = line.strip()
        if not content or content.startswith("!") or content == "end":
            continue
        indent = len(line) - len(line.lstrip())
        while stack[-1][0] >= indent:
            stack.pop()
        stack.append((indent, stack[-1][1].setdefault(content, {})))
    return root


def write(tree, step, level=0):
    """Writes dictionaries as indented lines, with "!" between contexts."""
    lines = []
    for line, children in tree.items():
        lines.append(" " * step * level + line)
        if children:
            lines += write(children, step, level + 1)
            lines.append(" " * step * level + "!")
    return lines


def ordered(tree, first):
    """Returns lines in the order of a first configuration, and others behind them: a device prints lines in an order of its own."""
    places = {line: i for i, line in enumerate(first)}
    return {line: ordered(tree[line], first.get(line, {})) for line in sorted(tree, key=lambda line: places.get(line, len(places)))}


class Lines:
    """The configuration of a device whose lines are nested, its candidate, and what a commit has replaced."""

    def __init__(self, text, header, step, end=("end",)):
        self.first, self.running, self.candidate, self.replaced = parse(text), parse(text), None, None
        self.header, self.step, self.end, self.deadline, self.expiring = header, step, list(end), 0.0, False
        self.saved()

    def show(self, tree=None):
        return "\n".join(self.header + write(ordered(self.running if tree is None else tree, self.first), self.step) + self.end)

    def saved(self):
        with open(RUNNING + ".new", "w", encoding="utf-8") as f:
            f.write(self.show())
        os.replace(RUNNING + ".new", RUNNING)

    def edited(self):
        return self.running if self.candidate is None else self.candidate

    def context(self, path):
        tree = self.edited()
        for line in path:
            tree = tree.setdefault(line, {})
        return tree

    def enter(self, path):
        self.context(path)
        self.saved()

    def set(self, path, line):
        self.context(path).setdefault(line, {})
        self.saved()

    def unset(self, path, line):
        self.context(path).pop(line, None)
        self.saved()

    def compare(self):
        return "\n".join(difflib.unified_diff(
            self.show().splitlines(), self.show(self.candidate).splitlines(), "system:/running-config", "session:/nodrop-session-config", lineterm=""))

    def begin(self):
        if self.candidate is None:
            self.candidate = copy.deepcopy(self.running)

    def commit(self, seconds):
        self.replaced, self.running, self.candidate = self.running, self.candidate, None
        self.deadline = time.monotonic() + seconds
        self.saved()

    def waits(self):
        """Reports whether a commit waits for its confirmation, and takes one back that got none in time."""
        if self.replaced is not None and time.monotonic() > self.deadline:
            self.revert()
        return self.replaced is not None

    def expire(self):
        """Has the time of a commit end right after the device makes it or shows it the next time."""
        self.expiring = True
        return "", None

    def shown(self):
        """Ends the time of a commit that the device has made or shown, if a test wants that."""
        if self.expiring and self.waits():
            self.expiring, self.deadline = False, 0.0

    def confirm(self):
        self.replaced = None

    def revert(self):
        self.running, self.replaced = self.replaced, None
        self.saved()


class Table:
    """Commands by their lines and prompts."""

    def __init__(self, rejection, commands):
        self.rejection, self.commands, self.functions = rejection, commands, {}

    def on(self, prompt, line, function):
        """Has a line run a function, which returns an output and the next prompt; None is the same prompt."""
        self.functions.setdefault(line, {})[prompt] = function

    def prints(self, prompts, *lines):
        """Has lines print nothing."""
        for prompt in prompts:
            for line in lines:
                self.on(prompt, line, lambda: ("", None))

    def mode(self, lines, prompt, path, inner, outer, end):
        """Adds the lines of a context: inner maps lines to what the device keeps for them (None is the same), or to the prompt and the lines
        of a further context."""
        self.on(prompt, "exit", lambda: ("", outer))
        if end:
            self.on(prompt, "end", lambda: ("", end))
        for line, kept in inner.items():
            if line != "no ip address":  # Without it, an address is missing in the command.
                self.on(prompt, negated(line), lambda line=line: (lines.unset(path, line) or "", None))
            if isinstance(kept, tuple):
                self.mode(lines, kept[0], path + [line], kept[1], prompt, end)
                self.on(prompt, line, lambda line=line, kept=kept: (lines.enter(path + [line]) or "", kept[0]))
                continue
            self.on(prompt, line, lambda line=kept or line: (lines.set(path, line) or "", None))

    def finish(self):
        """Returns the table as fakenos reads it."""
        commands = {**self.commands, "_default_": {"output": self.rejection}, "EOF": {"output": True}}
        for line, functions in self.functions.items():
            commands[line] = {"output": answer(functions), "prompt": list(functions)}
        return commands


def negated(line):
    """Returns the line that removes another: an entry of a list by its number."""
    first, _, rest = line.partition(" ")
    if first == "no":
        return rest
    return "no " + (first if first.isdigit() else line)


def answer(functions):
    """Returns the function that fakenos calls for a line."""

    def run(device, base_prompt, current_prompt, command):
        for prompt, function in functions.items():
            if prompt.format(base_prompt=base_prompt) == current_prompt:
                output, following = function()
                return {"output": output or None, **({"new_prompt": following} if following else {})}
        return None

    return run


class Device:
    """What fakenos makes of a table with functions; the state is in the functions."""

    def __init__(self, configuration_file=None):
        pass


def entries(form, numbers):
    """Returns lines of one form."""
    return {form.format(i=i, n=10 * (i + 1)): None for i in numbers}
