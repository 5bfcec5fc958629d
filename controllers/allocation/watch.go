package allocation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// handler is called with each object that was added, updated or deleted.
type handler func(obj any, gone bool)

// watch has the informers of a cache report changes to an inbox, and waits until what exists
// was reported.
func watch(ctx context.Context, c cache.Cache, in *inbox) error {
	handlers := map[client.Object]handler{
		&v1alpha1.Benchmark{}:      noting(in, (*changes).benchmark),
		&v1alpha1.TestBed{}:        noting(in, (*changes).bed),
		&v1alpha1.TrafficProfile{}: noting(in, (*changes).profile),
		&v1alpha1.Reservation{}:    noting(in, (*changes).reservation),
		&v1alpha1.LabPolicy{}:      noting(in, (*changes).policy),
		&corev1.Namespace{}:        noting(in, (*changes).namespace),
	}
	var synced []toolscache.InformerSynced
	for obj, handle := range handlers {
		informer, err := c.GetInformer(ctx, obj)
		if err != nil {
			return fmt.Errorf("watching %T: %w", obj, err)
		}
		reg, err := informer.AddEventHandler(handle.ofEvents())
		if err != nil {
			return fmt.Errorf("watching %T: %w", obj, err)
		}
		context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(reg) })
		synced = append(synced, reg.HasSynced)
	}
	toolscache.WaitForCacheSync(ctx.Done(), synced...) // It fails only when the context ended.
	return nil
}

// noting returns a handler that notes objects of one type.
func noting[T client.Object](in *inbox, record func(c *changes, obj T, gone bool)) handler {
	return func(obj any, gone bool) {
		if o, ok := obj.(T); ok {
			in.note(func(c *changes) { record(c, o, gone) })
		}
	}
}

// ofEvents returns the handler in the form of an informer.
func (h handler) ofEvents() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { h(obj, false) },
		UpdateFunc: func(_, obj any) { h(obj, false) },
		DeleteFunc: func(obj any) {
			if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			h(obj, true)
		},
	}
}
