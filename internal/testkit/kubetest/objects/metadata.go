package objects

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Metadata is an option of every kind: it changes an object's metadata.
type Metadata func(metav1.Object)

func (m Metadata) applyToBed(b *v1alpha1.TestBed)            { m(b) }
func (m Metadata) applyToBenchmark(b *v1alpha1.Benchmark)    { m(b) }
func (m Metadata) applyToProfile(p *v1alpha1.TrafficProfile) { m(p) }

// UID sets the UID.
func UID(uid types.UID) Metadata {
	return func(o metav1.Object) { o.SetUID(uid) }
}

// Labels sets the labels.
func Labels(labels map[string]string) Metadata {
	return func(o metav1.Object) { o.SetLabels(labels) }
}

// Annotations sets the annotations.
func Annotations(annotations map[string]string) Metadata {
	return func(o metav1.Object) { o.SetAnnotations(annotations) }
}

// Finalizers sets the finalizers.
func Finalizers(names ...string) Metadata {
	return func(o metav1.Object) { o.SetFinalizers(names) }
}

// Generation sets the number of the spec's version.
func Generation(n int64) Metadata {
	return func(o metav1.Object) { o.SetGeneration(n) }
}

// Created sets the time at which the object was created.
func Created(at metav1.Time) Metadata {
	return func(o metav1.Object) { o.SetCreationTimestamp(at) }
}

func duration(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
