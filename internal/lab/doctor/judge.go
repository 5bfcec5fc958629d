package doctor

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
)

// clusterCheck checks one thing of the cluster for one engine.
type clusterCheck func(f Facts, e Engine) verdict

// nodeCheck checks one thing of a node.
type nodeCheck func(f Facts, n Node, e Engine) verdict

// check is a check with its name and the engines that it applies to.
type check[L any] struct {
	name    string
	engines []Engine
	run     L
}

var (
	realInterfaces = []Engine{XDP, TRexSoftware, TRex}
	withPods       = []Engine{XDP, TRexSoftware, TRex, Containerlab}
	anyTRex        = []Engine{TRexSoftware, TRex}
	lineRate       = []Engine{TRex}
)

var clusterChecks = []check[clusterCheck]{
	{"Kubernetes", Engines, kubernetes},
	{"NoDrop's definitions", Engines, definitions},
	{"operator", Engines, operator},
	{"recorder", Engines, recorderOf},
	{"bed", Engines, bedReady},
	{"Multus", realInterfaces, multusDefinition},
	{"Multus on nodes", realInterfaces, multusPods},
	{"networks", realInterfaces, networks},
	{"claim templates", realInterfaces, claimTemplates},
	{"capabilities", withPods, capabilities},
	{"TRex image", anyTRex, trexImage},
	{"nodes", withPods, someNode},
}

var nodeChecks = []check[nodeCheck]{
	{"node", withPods, nodeReady},
	{"taints", withPods, taints},
	{"architecture", realInterfaces, architecture},
	{"kernel release", []Engine{XDP}, kernelRelease},
	{"kernel features", []Engine{XDP}, kernelBPF},
	{"packet sockets", []Engine{TRexSoftware}, packetSockets},
	{"Docker", []Engine{Containerlab}, docker},
	{"processors", realInterfaces, processors},
	{"processor features", anyTRex, processorFeatures},
	{"memory", anyTRex, memory},
	{"huge pages", lineRate, hugePages},
	{"CPU manager policy", []Engine{XDP, TRex}, cpuManager},
	{"topology manager", lineRate, topologyManager},
	{"device plugin", realInterfaces, devicePlugin},
	{"resource claims", realInterfaces, resourceClaims},
	{"virtual functions", realInterfaces, virtualFunctions},
	{"interfaces in pods", realInterfaces, interfacesInPods},
	{"network cards", lineRate, networkCards},
	{"IOMMU", lineRate, iommu},
	{"VFIO", lineRate, vfio},
}

// EnginesOf returns what a bed needs: its engine, and what starts its device.
func EnginesOf(bed *v1alpha1.TestBed) []Engine {
	var engines []Engine
	switch {
	case bed.Spec.Engine.Kind == v1alpha1.EngineSim:
		engines = append(engines, Sim)
	case bed.Spec.Engine.Kind == v1alpha1.EngineXDP:
		engines = append(engines, XDP)
	case bed.Spec.Engine.TRexMode() == v1alpha1.TRexInSoftware:
		engines = append(engines, TRexSoftware)
	default:
		engines = append(engines, TRex)
	}
	if device.Of(bed.Spec.Device).OnNode {
		engines = append(engines, Containerlab)
	}
	return engines
}

// Judge runs all checks that apply to the engines. Every is true where
// every node must have what an engine needs, as those of a bed must; without it
// one such node is enough.
func Judge(f Facts, engines []Engine, every bool) Report {
	report := Report{Lab: f.Lab, Namespace: f.Namespace}
	if f.Bed != nil {
		report.Bed = f.Bed.Name
	}
	for _, e := range engines {
		var findings []Finding
		for _, c := range clusterChecks {
			if slices.Contains(c.engines, e) {
				findings = add(findings, e, "", c.name, c.run(f, e))
			}
		}
		if e != Sim {
			for _, n := range f.Nodes {
				findings = append(findings, judgeNode(f, n, e)...)
			}
		}
		report.Findings = append(report.Findings, findings...)
		report.Engines = append(report.Engines, summarise(e, findings, every))
	}
	return report
}

// judgeNode returns the findings of a node. If the node does not exist, that is the only one.
func judgeNode(f Facts, n Node, e Engine) []Finding {
	var findings []Finding
	for _, c := range nodeChecks {
		if !slices.Contains(c.engines, e) {
			continue
		}
		findings = add(findings, e, n.Name, c.name, c.run(f, n, e))
		if n.Absent {
			break
		}
	}
	return findings
}

func add(findings []Finding, e Engine, node, name string, v verdict) []Finding {
	if v == (verdict{}) {
		return findings
	}
	return append(findings, Finding{Engine: e, Node: node, Check: name, Level: v.level, Seen: v.seen, Advice: v.advice})
}
