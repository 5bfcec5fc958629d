package results

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/cpuset"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// EnvironmentChanges names what is different between two environments such that rows of both
// must not make one result. Hardware addresses of virtual interfaces, and which processors a
// run got of as many, differ from run to run. An environment that is not known changes nothing.
func EnvironmentChanges(was, is *v1alpha1.ResultEnvironment) (changed []string) {
	if was == nil || is == nil {
		return nil
	}
	for _, field := range []struct {
		name    string
		was, is any
	}{
		{"the version of NoDrop", was.NoDropVersion, is.NoDropVersion},
		{"the engine", []any{was.Engine, was.EngineDetail, was.LatencyType}, []any{is.Engine, is.EngineDetail, is.LatencyType}},
		{"the device", described(was), described(is)},
		{"the configuration or the software of the device", digests(was, is), digests(is, was)},
		{"the machines of the tester", hosts(was), hosts(is)},
		{"the ports of the tester", ports(was), ports(is)},
	} {
		if !equality.Semantic.DeepEqual(field.was, field.is) {
			changed = append(changed, field.name)
		}
	}
	return changed
}

// described are the descriptions of the device in all variants.
func described(e *v1alpha1.ResultEnvironment) []any {
	all := []any{e.Device}
	for _, v := range e.Variants {
		all = append(all, v.Name, v.Device)
	}
	return all
}

// digests identify the configurations and the software that the device reported in variants that two environments
// have.
func digests(e, other *v1alpha1.ResultEnvironment) map[v1alpha1.VariantName]string {
	all, known := map[v1alpha1.VariantName]string{}, other.Configurations()
	for variant, c := range e.Configurations() {
		if known[variant] != nil {
			all[variant] = c.Digest + " " + c.Software
		}
	}
	return all
}

// hosts are the machines with what decides how fast they are.
func hosts(e *v1alpha1.ResultEnvironment) []any {
	all := make([]any, len(e.Hosts))
	for i, h := range e.Hosts {
		all[i] = []any{h.Name, h.Kernel, h.CPU, h.CPUs, processors(h.TesterCPUs), processors(h.DeviceCPUs), h.Together}
	}
	return all
}

// processors returns the number of processors in a list, or -1 if the list is invalid.
func processors(list string) int {
	set, err := cpuset.Parse(list)
	if err != nil {
		return -1
	}
	return set.Size()
}

func ports(e *v1alpha1.ResultEnvironment) []any {
	all := []any{e.PortCount}
	for _, p := range e.Ports {
		p.MAC, p.Interface = "", ""
		all = append(all, p)
	}
	return all
}
