package manifest

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Default fills in the defaults of the API in objects that were made in Go, as the API
// server does for those that are applied. It returns an error for objects that are not of
// this API group.
func Default(objects ...runtime.Object) error {
	for _, o := range objects {
		name := reflect.TypeOf(o).Elem().Name()
		kind, err := schemaOf(name)
		if err != nil {
			return err
		}
		if kind == nil {
			return fmt.Errorf("%s is not a kind of this API", name)
		}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return fmt.Errorf("reading the %s: %w", name, err)
		}
		kind.complete(object)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, o); err != nil {
			return fmt.Errorf("writing the %s: %w", name, err)
		}
	}
	return nil
}
