package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// TestRestart lets the operator die at every stage; the next one continues.
func TestRestart(t *testing.T) {
	server := startServer(t)
	for name, s := range stages {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, server)
			w.at(name)
			w.stop()
			switch s.held {
			case "":
			default:
				w.letGo("b", s.held)
			}
			w.start()
			if name == "queued" {
				w.runners.report(w.benchmark("other"), measured(row(64)))
			}
			b := w.reaches("b", v1alpha1.PhaseRunning)
			w.runners.report(b, measured(row(64), row(128)))
			b = w.reaches("b", v1alpha1.PhaseMeasured)
			w.Expect(w.rows(b)).To(HaveLen(2))
			w.bedIsClean("frr")
		})
	}
	t.Run("cleaning up", func(t *testing.T) {
		w := newWorld(t, server)
		w.kubelet.hold("device-down")
		w.at("measuring")
		w.runners.report(w.benchmark("b"), measured(row(64)))
		w.appears("b", "device-down")
		w.stop()
		w.letGo("b", "device-down")
		w.start()
		w.reaches("b", v1alpha1.PhaseMeasured)
		w.bedIsClean("frr")
	})
	t.Run("after the lease and before the status", func(t *testing.T) {
		w := newWorld(t, server)
		w.stop()
		create(t, w.c, configMap("router", "topology.clab.yaml", "name: router"), virtual("frr"), profile(), benchmark("b", "frr"))
		b, bed := w.benchmark("b"), w.bed("frr")
		bed.Finalizers = []string{v1alpha1.FinalizerLeased}
		w.Expect(w.c.Update(t.Context(), bed)).To(Succeed())
		bed.Status.Lease = &v1alpha1.BedLease{Holder: "team-routing/b", UID: string(b.UID), AcquireTime: b.CreationTimestamp}
		w.Expect(w.c.Status().Update(t.Context(), bed)).To(Succeed())
		w.start()
		b = w.reaches("b", v1alpha1.PhaseRunning)
		w.Expect(b.Status.StartTime.Time).To(BeTemporally("==", b.CreationTimestamp.Time), "the start is that of the lease")
	})
}

// TestOneHolder lets two operators compete for one bed on behalf of many
// benchmarks, and watches every state of the bed: it is free between two holders, or the first of them has ended and
// left nothing.
func TestOneHolder(t *testing.T) {
	server := startServer(t)
	w := newWorld(t, server)
	w.stop()
	w.crowded = true

	scheme, err := operator.Scheme()
	w.Expect(err).NotTo(HaveOccurred())
	watcher, err := client.NewWithWatch(server.admin, client.Options{Scheme: scheme})
	w.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, err := watcher.Watch(ctx, &v1alpha1.TestBedList{})
	w.Expect(err).NotTo(HaveOccurred())
	holders := make(chan []string, 1)
	go func() { holders <- watchHolders(t, events, watcher) }()

	w.start()
	stopSecond := w.startOperator()
	defer stopSecond()
	create(t, w.c, configMap("model", "model.csv", table), modelled("sim"), profile())
	const n = 8
	for i := range n {
		b := benchmark(fmt.Sprintf("b%d", i), "sim", objects.Priority(int32(i%3)))
		create(t, w.c, b)
		w.runners.report(b, measured(row(64)))
	}
	for i := range n {
		w.reaches(fmt.Sprintf("b%d", i), v1alpha1.PhaseMeasured)
	}
	w.bedIsClean("sim")
	cancel()
	events.Stop()
	seen := <-holders
	w.Expect(seen).To(HaveLen(n), "holders, each once")
}

// watchHolders returns the holders of the bed in their order.
func watchHolders(t *testing.T, events watch.Interface, c client.Reader) []string {
	var seen []string
	current := ""
	var before *v1alpha1.TestBed
	for e := range events.ResultChan() {
		bed, ok := e.Object.(*v1alpha1.TestBed)
		if !ok || bed.Name != "sim" {
			continue
		}
		holder := ""
		if bed.Status.Lease != nil {
			holder = bed.Status.Lease.Holder
		}
		last := before
		before = bed
		if holder == current {
			continue
		}
		if holder != "" && current != "" {
			b, name := &v1alpha1.Benchmark{}, strings.TrimPrefix(current, team+"/")
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: name}, b); err != nil || !kit.Returned(last, b) {
				t.Errorf("the bed went from %s to %s without being free, and %s is in phase %s (%v)", current, holder, current, b.Status.Phase, err)
			}
		}
		if holder != "" {
			seen = append(seen, holder)
		}
		current = holder
	}
	return seen
}

// TestLeaseThatIsLeft has an operator that left its lease when it was stopped: the next one does not wait for its end.
func TestLeaseThatIsLeft(t *testing.T) {
	w := newWorld(t, startServer(t))
	w.stop()
	lease := &coordinationv1.Lease{}
	w.Expect(client.IgnoreNotFound(w.c.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: "nodrop-operator"}, lease))).To(Succeed())
	began := metav1.NowMicro()
	lease.Namespace, lease.Name = operatorNamespace, "nodrop-operator"
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: new(operatorName), LeaseDurationSeconds: new(int32(3600)), AcquireTime: &began, RenewTime: &began}
	if lease.UID == "" {
		create(t, w.c, lease)
	} else {
		w.Expect(w.c.Update(t.Context(), lease)).To(Succeed())
	}
	w.start()
	w.modelledBed()
	w.measures("b")
}
