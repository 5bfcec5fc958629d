package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of every resource in this package.
var GroupVersion = schema.GroupVersion{Group: "nodrop.dev", Version: "v1alpha1"}

// SchemeBuilder registers the types of this package in a runtime.Scheme.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme adds the types of this package to a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&TestBed{}, &TestBedList{},
		&TrafficProfile{}, &TrafficProfileList{},
		&Benchmark{}, &BenchmarkList{},
		&BenchmarkSchedule{}, &BenchmarkScheduleList{},
		&BenchmarkResult{}, &BenchmarkResultList{},
		&BenchmarkSnapshot{}, &BenchmarkSnapshotList{},
		&Reservation{}, &ReservationList{},
		&NotificationSink{}, &NotificationSinkList{},
		&LabPolicy{}, &LabPolicyList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
