package preflight

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Bounds of the memory of a hook.
var minHookMemory, maxHookMemory = resource.MustParse("16Mi"), resource.MustParse("16Gi")

// maxHooks bounds the hooks of a bed, in bytes of JSON: each run keeps them.
const maxHooks = 64 << 10

// hookProblems returns the problems of the hooks of a bed.
func hookProblems(path *field.Path, hooks *v1alpha1.LeaseHooks) field.ErrorList {
	if hooks == nil {
		return nil
	}
	var problems field.ErrorList
	for _, stage := range []struct {
		name  string
		hooks []v1alpha1.LeaseHook
	}{{"beforeLease", hooks.BeforeLease}, {"afterLease", hooks.AfterLease}} {
		for i, h := range stage.hooks {
			if h.Memory != nil && (h.Memory.Cmp(minHookMemory) < 0 || h.Memory.Cmp(maxHookMemory) > 0) {
				problems = append(problems, field.Invalid(path.Child(stage.name).Index(i).Child("memory"), h.Memory.String(),
					fmt.Sprintf("give %s to %s", &minHookMemory, &maxHookMemory)))
			}
		}
	}
	text, err := json.Marshal(hooks)
	if err != nil {
		return append(problems, field.InternalError(path, err))
	}
	if len(text) > maxHooks {
		problems = append(problems, field.TooLong(path, "", maxHooks))
		problems[len(problems)-1].Detail = fmt.Sprintf("all hooks have %d KiB together, and at most %d KiB are allowed: put long scripts into their images", (len(text)+1023)>>10, maxHooks>>10)
	}
	return problems
}
