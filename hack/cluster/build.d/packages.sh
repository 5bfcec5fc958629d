# What the node uses of the machine itself: nft for kube-proxy, ip to lay the
# node's links, nsenter and mount to enter and furnish it, gcc for runc and pause.

part_packages() {
  STEP=$((STEP + 1))
  say "[$STEP/$STEPS] Debian packages"
  need_packages nftables iproute2 util-linux mount procps ca-certificates gcc libc6-dev
}
