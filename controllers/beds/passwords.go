package beds

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/router"
)

// passwordsExist checks for the Secrets with the passwords of BGP sessions.
func (r *Reconciler) passwordsExist(ctx context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	_, problem, err := r.LabFiles().Passwords(ctx, bed)
	if err != nil || problem == "" {
		return "", "", err
	}
	return v1alpha1.ReasonBedInvalid, problem, nil
}

// sessionsForDevice describes that a topology uses the configuration that is made from the
// routing of a bed, but the bed has no routing; empty otherwise.
func sessionsForDevice(bed *v1alpha1.TestBed, topology *corev1.ConfigMap, key string) string {
	if bed.Spec.Routing != nil {
		return ""
	}
	for _, kind := range []string{router.FRR, router.BIRD} {
		name := router.FileOf(kind)
		if _, own := topology.Data[name]; !own && strings.Contains(topology.Data[key], name) {
			return fmt.Sprintf("key %s of ConfigMap %s mentions %s, which is made from the sessions and the multicast routing of the bed, and the bed has neither: add spec.routing, or name another file in the topology", key, topology.Name, name)
		}
	}
	return ""
}
