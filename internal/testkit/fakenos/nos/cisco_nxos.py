"""Cisco NX-OS: the version that fakenos ships, and a configuration of which each line takes effect at once."""

from devices import Device, entries, Lines, shipped, Table

NAME = "cisco_nxos"
INITIAL_PROMPT = EXEC = "{base_prompt}# "
DEVICE_NAME = "Device"
CONFIG = "{base_prompt}(config)# "

lines = Lines("""
hostname dut
feature bgp
feature interface-vlan
username admin password 5 $5$JBDBMG$6qHzXFlBXDOTtEaTPLvVxZbOXZbVaFdWZ1yl5C0mEh4 role network-admin
snmp-server user admin network-admin auth md5 0x9a1d9ba47a0fdee2d5ba1a3a5e9c2b87 priv 0x9a1d9ba47a0fdee2d5ba1a3a5e9c2b87 localizedkey
ip route 198.18.100.0/24 198.18.1.9
vlan 1,10
vrf context management
  ip route 0.0.0.0/0 192.0.2.1
interface Vlan1
interface Ethernet1/1
  no switchport
  ip address 198.18.1.1/24
  no shutdown
interface Ethernet1/2
interface mgmt0
  vrf member management
  ip address 192.0.2.10/24
line console
line vty
router bgp 65001
  address-family ipv4 unicast
    network 198.18.1.0/24
  neighbor 198.18.1.2
    remote-as 65002
    address-family ipv4 unicast
""", ["", "!Command: show running-config", "!Running configuration last done at: Sat Nov 28 09:12:01 2026", "!Time: Sat Nov 28 09:13:41 2026", "", "version 7.1(4)N1(1)"], 2, end=())

table = Table("      ^\n% Invalid command at '^' marker.", shipped("cisco_nxos"))
table.prints([EXEC], "terminal width 511")
table.on(EXEC, "show running-config", lambda: (lines.show(), None))
table.on(EXEC, "configure terminal", lambda: ("Enter configuration commands, one per line. End with CNTL/Z.", CONFIG))
table.mode(lines, CONFIG, [], {
    **entries("ip route 198.18.{i}.0/24 198.18.1.9", [*range(30), 100]),
    "ip route 198.18.9.1/24 198.18.1.9": "ip route 198.18.9.0/24 198.18.1.9",
    "ip access-list filter": ("{base_prompt}(config-acl)# ", entries("{n} deny ip 198.18.{i}.0/24 any", range(256))),
    "interface Ethernet1/1": ("{base_prompt}(config-if)# ", {"ip address 198.18.1.1/24": None, "ip access-group filter in": None}),
    "router bgp 65001": ("{base_prompt}(config-router)# ", {
        "neighbor 198.18.1.2": ("{base_prompt}(config-router-neighbor)# ", {"remote-as 65002": None, "remote-as 65003": None, "password 3 hunter2": None}),
    }),
}, EXEC, EXEC)
commands = table.finish()
