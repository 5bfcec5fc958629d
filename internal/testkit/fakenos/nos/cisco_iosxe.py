"""Cisco IOS-XE: the configuration and the version that fakenos ships, of which each line takes effect at once."""

from devices import Device, entries, Lines, shipped, Table, template

NAME = "cisco_iosxe"
INITIAL_PROMPT = EXEC = "{base_prompt}#"
DEVICE_NAME = "Device"
CONFIG = "{base_prompt}(config)#"



class IOS(Lines):
    """Lines of an interface without an address."""

    def set(self, path, line):
        if line.startswith("ip address "):
            self.context(path).pop("no ip address", None)
        super().set(path, line)

    def unset(self, path, line):
        super().unset(path, line)
        if line.startswith("ip address "):
            super().set(path, "no ip address")


lines = IOS(template("cisco_ios", "show_running-config"), [
    "Building configuration...", "", "Current configuration : 4711 bytes", "!", "! Last configuration change at 09:12:01 UTC Sat Nov 28 2026", "!", "version 17.3",
], 1)

table = Table("      ^\n% Invalid input detected at '^' marker.\n", {**shipped("cisco_ios"), "show version": {"output": template("cisco_ios", "show_version")}})
table.prints([EXEC], "terminal width 0")
table.on(EXEC, "show running-config", lambda: (lines.show(), None))
table.on(EXEC, "configure terminal", lambda: ("Enter configuration commands, one per line.  End with CNTL/Z.", CONFIG))
table.mode(lines, CONFIG, [], {
    "ntp server 8.8.8.8": None,
    "snmp-server community hunter2 RO": None,
    **entries("ip route 198.18.{i}.0 255.255.255.0 198.18.1.9", range(30)),
    "ip access-list extended filter": ("{base_prompt}(config-ext-nacl)#", {
        **entries("{n} deny ip 198.18.{i}.0 0.0.0.255 any", range(256)), "9990 deny ip 198.18.9.1 0.0.0.255 any": "9990 deny ip 198.18.9.0 0.0.0.255 any",
    }),
    "interface Ethernet0/1": ("{base_prompt}(config-if)#", {
        "no ip address": None, "ip address 198.18.1.1 255.255.255.0": None, "ip access-group filter in": None,
    }),
    "router bgp 100": ("{base_prompt}(config-router)#", {
        "neighbor 10.0.0.4 inherit peer-session RR": None,
        "address-family ipv4": ("{base_prompt}(config-router-af)#", {"neighbor 10.0.0.4 activate": None, "neighbor 10.0.0.4 send-community extended": None}),
    }),
}, EXEC, EXEC)
commands = table.finish()
