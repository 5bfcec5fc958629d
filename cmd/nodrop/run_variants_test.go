package main

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/exit"
)

// A benchmark with variants is refused with what to do where they cannot be had.
func TestRunRefusesVariants(t *testing.T) {
	sendsNoFrames(t)
	named := strings.Replace(simBenchmark, "  tests:\n", "  variants: [slow, fast]\n  tests:\n", 1)
	const model = "model: {configMapRef: {name: models, key: chassis.csv}}"
	having := func(fast string) string {
		return strings.Replace(simManifests, "device: {simulated: {"+model+"}}",
			"device:\n    simulated: {"+model+"}\n    variants:\n    - {name: slow}\n    - {name: fast, simulated: {"+fast+"}}", 1)
	}
	virtual := strings.Replace(simManifests, "device: {simulated: {"+model+"}}\n  engine: {kind: sim, sim: {ports: {count: 256, speed: 100G}}}",
		`device:
    containerlab: {topology: {configMapRef: {name: router, key: topology.clab.yaml}}, node: dut}
    variants:
    - {name: slow}
    - {name: fast, containerlab: {topology: {configMapRef: {name: router, key: fast.clab.yaml}}}}
  engine: {kind: xdp}
  ports:
  - {name: p1, node: lab, attachment: {hostDevice: {interface: eth1}}, speed: 1G, addresses: [198.18.1.2/24], gateways: [198.18.1.1]}
  - {name: p2, node: lab, attachment: {hostDevice: {interface: eth2}}, speed: 1G, addresses: [198.18.2.2/24], gateways: [198.18.2.1]}`, 1)
	configured := strings.NewReplacer("node: dut}\n", "node: dut, configuration: {platform: nftables, configMapRef: {name: lists, key: base}}}\n",
		"topology: {configMapRef: {name: router, key: fast.clab.yaml}}", "configuration: {configMapRef: {name: lists, key: fast}}").Replace(virtual)
	for name, test := range map[string]struct{ rest, want string }{
		"a bed without them":   {simManifests, `spec.variants[0]: Invalid value: "slow": the device of test bed chassis has no variants`},
		"a model that is gone": {having("model: {configMapRef: {name: models, key: quick.csv}}"), `spec.device.variants[1].simulated.model.configMapRef.key: ConfigMap "models" in`},
		"nothing different":    {having(""), "spec.device.variants[1].simulated"},
		"another kind of device": {strings.Replace(having("model: {configMapRef: {name: models, key: chassis.csv}}"), "simulated: {model: {configMapRef: {name: models, key: chassis.csv}}}}\n",
			"containerlab: {topology: {configMapRef: {name: a, key: b}}}}\n", 1), "device.variants gives containerlab, and the device is not of containerlab"},
		"a device that a router takes the place of":  {virtual, "and without a cluster a Linux router or bridge takes the place of the device, which has no variants"},
		"a configuration that a router does not get": {configured, "spec.device.containerlab.configuration of TestBed chassis is lists/base, and without a cluster a Linux router or bridge takes the place of the node, which gets no configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, "run", "-f", manifests(t, named, test.rest)).wants(exit.Use, "", test.want)
		})
	}
}
