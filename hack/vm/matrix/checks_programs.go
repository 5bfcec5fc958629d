package main

import "time"

// programChecks load the BPF programs, and use them without further rights.
var programChecks = []check{
	{name: "programs", title: "BPF programs load", limit: 10 * time.Minute,
		what:   "All BPF programs load, and the verifier follows at most 100,000 instructions of each.",
		script: xdpTest("^TestProgramsLoad$")},
	{name: "capabilities", title: "four capabilities", limit: 10 * time.Minute,
		what:   "Ports open, and send and receive, with `NET_ADMIN`, `NET_RAW`, `BPF` and `PERFMON` only, and not without one of them.",
		script: xdpTest("^TestCapabilities$")},
	{name: "modules", title: "without modules", limit: 10 * time.Minute,
		what: "A run needs none of the modules `tcp_diag`, `udp_diag`, `xfrm_user` and `nfnetlink`, which minimal systems lack.",
		script: `for m in tcp_diag udp_diag inet_diag xfrm_user nfnetlink; do
  echo "install $m /bin/false" >> /etc/modprobe.d/hide.conf
  ! modprobe -r $m 2>/dev/null || true
done
` + commandTest("^TestRunOnInterfacesOfTheMachine$/^moved$") + `rm /etc/modprobe.d/hide.conf
`},
}

// xdpTest runs tests of the engine, in the folder of their package.
func xdpTest(run string) string {
	return "cd internal/traffic/xdp && $bin/xdp.test -test.v -test.short -test.timeout 60m -test.run '" + run + "'\ncd $root\n"
}

// commandTest runs tests of the program.
func commandTest(run string) string {
	return "cd cmd/nodrop && $bin/nodrop.test -test.v -test.short -test.timeout 60m -test.run '" + run + "'\ncd $root\n"
}
