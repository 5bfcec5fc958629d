# The first process of a machine that NoDrop starts. The driver writes the variables load, names and addresses above
# this line: modules that are loaded, and the interfaces with their hardware addresses.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C
stty -F /dev/ttyS1 raw -echo
exec 3<>/dev/ttyS1
# fail tells the driver why the machine is no device, and ends it.
fail() { echo "failed $*" >&3; sync; echo o > /proc/sysrq-trigger; sleep 60; }

mkdir -p /dev/pts /dev/shm /lib/modules
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t bpf bpf /sys/fs/bpf
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=512000,cache=loose modules /lib/modules || fail "the machine cannot read the modules of its kernel"
rm -f /etc/modprobe.d/*
hostname machine
ip link set lo up
modprobe virtio_net || fail "the kernel has no module virtio_net"
for m in "${load[@]}"; do modprobe "$m" || fail "loading the module $m: $(modprobe "$m" 2>&1)"; done

# nameOf prints the present name of the card at a path; it fails if another network namespace has it.
nameOf() {
  for at in /sys/class/net/*; do
    if [ "$(readlink -f "$at/device")" = "$1" ]; then echo "${at##*/}"; return; fi
  done
  return 1
}

# A card may need a moment after its driver.
for i in "${!names[@]}"; do
  for ((tries = 0; tries < 300; tries++)); do
    card=$(grep -l "^${addresses[i]}$" /sys/class/net/*/address) && break
    sleep 0.1
  done
  [ -n "$card" ] || fail "the machine has no card with the address ${addresses[i]}"
  cards[i]=$(readlink -f "${card%/address}/device")
done

# take names all cards as at first, with their addresses. It waits for cards that a network namespace gives back.
take() {
  for i in "${!names[@]}"; do
    for ((tries = 0; tries < 300; tries++)); do
      now=$(nameOf "${cards[i]}") && break
      sleep 0.1
    done
    [ -n "$now" ] || { echo "interface ${names[i]} did not come back from the configuration before: is a process left that holds its network namespace?"; return 1; }
    ip link set "$now" down
    ip link set "$now" name "was$i"
  done
  for i in "${!names[@]}"; do
    ip link set "was$i" name "${names[i]}" address "${addresses[i]}" mtu 9198 && ip link set "${names[i]}" up || return 1
  done
}

# renew makes the network namespace "device" anew, in which the cards are and nothing else.
renew() {
  ip netns list | while read -r name _; do
    ip netns pids "$name" | xargs -r kill -9
    ip netns delete "$name"
  done
  take && ip netns add device && ip -n device link set lo up || return 1
  for name in "${names[@]}"; do
    ip link set "$name" netns device && ip -n device link set "$name" up || return 1
  done
}

# Configurations end with the first command that fails, and print its line.
cat > /run/configure <<'END'
set -eE
trap 'code=$?; echo "line $LINENO: $BASH_COMMAND: exit code $code"' ERR
. "$1"
END

take > /run/vm/taken 2>&1 || fail "$(tail -n 1 /run/vm/taken)"
echo ready >&3
# Each line of the driver is a number and how to run the script of this number: in the first network namespace ("run"), or
# after renew in the namespace "device" ("configure").
while read -r -u 3 number how; do
  code=0
  case $how in
  configure) { renew && ip netns exec device bash /run/configure "/run/vm/$number.sh"; } > "/run/vm/$number.out" 2>&1 < /dev/null 3>&- || code=$? ;;
  *) bash "/run/vm/$number.sh" > "/run/vm/$number.out" 2>&1 < /dev/null 3>&- || code=$? ;;
  esac
  echo "$number $code" >&3
done
