package preflight

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// Models returns the text of the model of a simulated device, and whether it could be
// read.
type Models func(v1alpha1.ConfigMapKeyReference) (text string, known bool)

// ModelsIn returns the models in ConfigMaps by name. One that is nil or absent has none.
func ModelsIn(all map[string]*corev1.ConfigMap) Models {
	return func(ref v1alpha1.ConfigMapKeyReference) (string, bool) {
		config := all[ref.Name]
		if config == nil {
			return "", false
		}
		text, known := config.Data[ref.Key]
		return text, known
	}
}

// ModelFits reports the frame sizes that the model of a simulated device lacks, in any
// variant that the benchmark measures. A model that cannot be read reports nothing: the
// condition Ready of the bed says why.
func ModelFits(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed, models Models) field.ErrorList {
	if bed.Spec.Device.Simulated == nil || models == nil {
		return nil
	}
	var errs field.ErrorList
	judged := map[v1alpha1.ConfigMapKeyReference]bool{}
	for _, variant := range b.Spec.VariantsInOrder() {
		device, found := bed.Spec.Device.As(variant)
		if !found || device.Simulated == nil || judged[device.Simulated.Model.ConfigMapRef] {
			continue
		}
		ref := device.Simulated.Model.ConfigMapRef
		judged[ref] = true
		text, known := models(ref)
		if !known {
			continue
		}
		model, err := sim.ParseModel(text)
		if err != nil {
			continue
		}
		errs = append(errs, plan.ValidateSizes(b, profile, func(size int) error {
			if model.Covers(size) {
				return nil
			}
			lowest, highest := model.Sizes()
			return fmt.Errorf("the device model of test bed %s (ConfigMap %s, key %s) has frame sizes of %d to %d bytes, not %d: change the frame size, or add a row to the model",
				bed.Name, ref.Name, ref.Key, lowest, highest, size)
		})...)
	}
	return errs
}
