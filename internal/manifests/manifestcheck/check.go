// Package manifestcheck checks the manifests of a run without a cluster, as admission does in one.
package manifestcheck

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/manifests/policy"
	"nodrop.dev/nodrop/internal/manifests/preflight"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/mrt"
)

// readDumps reads the routes that a profile takes from dumps.
func readDumps(profile *v1alpha1.TrafficProfile) field.ErrorList {
	if profile.Spec.Routing == nil {
		return nil
	}
	var errs field.ErrorList
	root := field.NewPath("TrafficProfile/"+profile.Name).Child("spec", "routing", "routes")
	for i, set := range profile.Spec.Routing.Routes {
		if set.MRT == nil || set.MRT.Routes != nil {
			continue
		}
		path, peer := root.Index(i).Child("mrt"), netip.Addr{}
		if set.MRT.Peer != "" {
			var err error
			if peer, err = netip.ParseAddr(set.MRT.Peer); err != nil {
				errs = append(errs, field.Invalid(path.Child("peer"), set.MRT.Peer, "give the address of a peer of the collector, such as 198.18.0.11"))
				continue
			}
		}
		routes, err := readDump(set.MRT.File, set.Name, peer)
		if err != nil {
			errs = append(errs, field.Invalid(path.Child("file"), set.MRT.File, err.Error()))
			continue
		}
		set.MRT.Routes = &v1alpha1.DumpedRoutes{Sets: routes}
	}
	return errs
}

func readDump(file, name string, peer netip.Addr) (_ []routing.Routes, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("the dump cannot be read: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return mrt.Read(f, name, peer)
}

// Fits refuses a benchmark that its profile, its bed, the model of the device or the policy
// do not allow.
func Fits(bundle *manifest.Bundle, defaultPolicy *v1alpha1.TrafficPolicy) error {
	if err := bundle.Invalid(readDumps(&bundle.Profile)); err != nil {
		return err
	}
	if err := bundle.Invalid(plan.Validate(&bundle.Benchmark, &bundle.Profile, &bundle.Bed)); err != nil {
		return err
	}
	if err := bundle.Invalid(preflight.ModelFits(&bundle.Benchmark, &bundle.Profile, &bundle.Bed, preflight.ModelsIn(bundle.ConfigMaps))); err != nil {
		return err
	}
	if err := bundle.Invalid(gate.Validate(&bundle.Benchmark, &bundle.Profile)); err != nil {
		return err
	}
	return bundle.Invalid(policy.Check(&bundle.Benchmark, &bundle.Profile, &bundle.Bed, defaultPolicy))
}
