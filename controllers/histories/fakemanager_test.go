package histories

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// fakeManager starts what SetupWithManager adds, on a fakeAPI.
type fakeManager struct {
	manager.Manager // for methods that are not called
	api             *fakeAPI
	cache           *fakeCache
	link            *link
	runnables       []manager.Runnable
}

func (m *fakeManager) Add(r manager.Runnable) error {
	m.runnables = append(m.runnables, r)
	return nil
}

func (m *fakeManager) Elected() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (m *fakeManager) GetCache() cache.Cache                { return m.cache }
func (m *fakeManager) GetScheme() *runtime.Scheme           { return m.api.scheme }
func (m *fakeManager) GetFieldIndexer() client.FieldIndexer { return m.cache }
func (m *fakeManager) GetRESTMapper() meta.RESTMapper       { return nil }
func (m *fakeManager) GetLogger() logr.Logger               { return ctrl.Log }
func (m *fakeManager) GetClient() client.Client {
	return &fakeClient{api: m.api, link: m.link, cache: m.cache}
}
func (m *fakeManager) GetAPIReader() client.Reader { return &fakeClient{api: m.api, link: m.link} }
func (m *fakeManager) GetEventRecorder(string) events.EventRecorder {
	return &events.FakeRecorder{}
}

func (m *fakeManager) GetControllerOptions() config.Controller {
	yes, no := true, false
	// The queue with priorities leaves a goroutine behind when it is stopped.
	return config.Controller{SkipNameValidation: &yes, UsePriorityQueue: &no}
}

// Start runs everything until the context ends, and waits for the end of all.
func (m *fakeManager) Start(ctx context.Context) error {
	var all sync.WaitGroup
	for _, r := range append([]manager.Runnable{m.cache}, m.runnables...) {
		all.Go(func() { _ = r.Start(ctx) })
	}
	all.Wait()
	return nil
}

func labelsOf(obj client.Object) labels.Set { return obj.GetLabels() }
