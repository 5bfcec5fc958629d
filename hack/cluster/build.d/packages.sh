# What the node uses of the machine itself: nft and conntrack for kube-proxy and devices, ip to lay the
# node's links, nsenter and mount to enter and furnish it, gcc for runc and pause.

part_packages() {
  STEP=$((STEP + 1))
  say "[$STEP/$STEPS] Debian packages"
  need_packages nftables conntrack iproute2 util-linux mount procps ca-certificates gcc libc6-dev jq
}

# The routers of the tests of internal/routing. Debian starts a service as soon as it is
# installed; here it is neither started nor enabled.
part_routers() {
  STEP=$((STEP + 1))
  say "[$STEP/$STEPS] Debian's routers FRR and BIRD"
  dpkg-query -W -f '${Status}\n' frr bird2 2>/dev/null | grep -c 'ok installed' | grep -qx 2 && return 0
  local policy=/usr/sbin/policy-rc.d
  [ ! -e "$policy" ] || { need_packages frr bird2; return; }
  need_root
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  chmod +x "$policy"
  (trap 'rm -f "$policy"' EXIT; need_packages frr bird2)
  [ ! -d /run/systemd/system ] || systemctl disable --quiet frr bird
}
