package capability_test

import (
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
	"nodrop.dev/nodrop/internal/traffic/sim"
	"nodrop.dev/nodrop/internal/traffic/trex"
	"nodrop.dev/nodrop/internal/traffic/xdp"
)

// Admission uses the capabilities that the engine implements.
func TestOptionalInterfacesAreDeclared(t *testing.T) {
	for kind, engine := range map[string]traffic.Generator{"sim": (*sim.Engine)(nil), "trex": (*trex.Engine)(nil), "xdp": (*xdp.Engine)(nil)} {
		declared, known := capability.Of(kind)
		if !known {
			t.Fatalf("engine %s is not known", kind)
		}
		if _, has := traffic.As[traffic.Sampler](engine); has != declared.Sampling {
			t.Errorf("engine %s: sampling is declared as %t, and it is a Sampler: %t", kind, declared.Sampling, has)
		}
		if _, has := traffic.As[traffic.GroupMember](engine); has != declared.Multicast {
			t.Errorf("engine %s: multicast is declared as %t, and it is a GroupMember: %t", kind, declared.Multicast, has)
		}
		if _, has := traffic.As[traffic.MicroflowCounter](engine); has != (declared.MaxMicroflows > 0) {
			t.Errorf("engine %s: %d microflows are declared, and it is a MicroflowCounter: %t", kind, declared.MaxMicroflows, has)
		}
		if _, has := traffic.As[traffic.Armer](engine); has != (declared.CrossHost && kind != "sim") {
			t.Errorf("engine %s: frames between hosts are declared as %t, and it is an Armer: %t", kind, declared.CrossHost, has)
		}
	}
}
