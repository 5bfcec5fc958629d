package controllers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/results"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/record"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// sections are the sections of a row that only some methods have, by method. Those of
// all rows, and the series, are in every row of the test.
var sections = map[v1alpha1.Method][]string{
	v1alpha1.MethodThroughput:         nil,
	v1alpha1.MethodPartialDropRate:    nil,
	v1alpha1.MethodLatency:            nil,
	v1alpha1.MethodFrameLoss:          nil,
	v1alpha1.MethodSoak:               nil,
	v1alpha1.MethodBackToBack:         {"BackToBack"},
	v1alpha1.MethodForwardingRate:     {"ForwardingRate"},
	v1alpha1.MethodOrdering:           {"Ordering"},
	v1alpha1.MethodRecovery:           {"Recovery"},
	v1alpha1.MethodAddressCaching:     {"AddressCaching"},
	v1alpha1.MethodAddressLearning:    {"AddressLearning"},
	v1alpha1.MethodBroadcast:          {"Broadcast"},
	v1alpha1.MethodHeadOfLineBlocking: {"HeadOfLineBlocking"},
	v1alpha1.MethodCongestionControl:  {"CongestionControl"},
	v1alpha1.MethodGroupJoinDelay:     {"GroupDelay"},
	v1alpha1.MethodGroupLeaveDelay:    {"GroupDelay"},
	v1alpha1.MethodGroupCapacity:      {"GroupCapacity"},
	v1alpha1.MethodReset:              {"Reset"},
	v1alpha1.MethodRFC2544Latency:     {"RFC2544Latency"},
	v1alpha1.MethodBufferSize:         {"BufferSize"},
	v1alpha1.MethodRouteCapacity:      {"RouteCapacity"},
	v1alpha1.MethodConvergence:        {"Convergence"},
	v1alpha1.MethodRouteFlap:          {"RouteFlap"},
	v1alpha1.MethodRouteRefresh:       {"RouteRefresh"},
	v1alpha1.MethodBGPRestart:         {"BGPRestart"},
	v1alpha1.MethodSessionScale:       {"SessionScale"},
	v1alpha1.MethodFIBTruth:           {"FIBTruth"},
	v1alpha1.MethodConfigurationScale: {"ConfigurationScale"},
	v1alpha1.MethodIncast:             {"Incast"},
	v1alpha1.MethodConnections:        {"Connections"},
	v1alpha1.MethodRPCLatency:         {"RPCLatency"},
	v1alpha1.MethodCollectives:        {"Collectives"},
	v1alpha1.MethodBulk:               {"Bulk"},
	v1alpha1.MethodMessageRate:        {"MessageRate"},
}

// largestRow is the row of a step with every member at its largest that the method can
// fill in.
func largestRow(t *testing.T, step plan.Step) v1alpha1.ResultRow {
	t.Helper()
	names, known := sections[step.Method]
	if !known {
		t.Fatalf("method %s is not in the list of sections: add it, with the sections that its rows have", step.Method)
	}
	row := v1alpha1.ResultRow{RowID: step.ID(), Validity: v1alpha1.ValidityGeneratorBound, Message: strings.Repeat("m", 1024)}
	for range 16 {
		row.ValidityReasons = append(row.ValidityReasons, strings.Repeat("r", 256))
	}
	of := reflect.ValueOf(&row).Elem()
	for _, name := range append([]string{"Frames", "Search", "Latency", "Multicast", "Classes", "MulticastLatency", "Microflows", "Series"}, names...) {
		items := 256
		switch name {
		case "Series":
			items = 240
		case "Microflows":
			items = v1alpha1.MaxBadMicroflows
		case "MessageRate":
			items = 100 // groups
		}
		fill(of.FieldByName(name), items)
	}
	if m := row.MessageRate; m != nil {
		const subscribers = 32
		m.Passed.Subscribers, m.Failed.Subscribers = m.Passed.Subscribers[:subscribers], m.Failed.Subscribers[:subscribers]
	}
	row.TrialRecords = largestLog(t)
	return row
}

// largestLog are the trials of a row that has as many as it can have.
var largestLog = func() func(*testing.T) *v1alpha1.TrialLog {
	var all *v1alpha1.TrialLog
	return func(t *testing.T) *v1alpha1.TrialLog {
		t.Helper()
		if all != nil {
			return all
		}
		var log record.Log
		for i := range 100 {
			one := v1alpha1.TrialRecord{Verdict: v1alpha1.TrialPassed}
			fill(reflect.ValueOf(&one.Parts).Elem(), i%8)
			fill(reflect.ValueOf(&one.Figures).Elem(), record.MaxParts)
			one.Sent, one.Received = 1<<50, 1<<50
			for j := range one.Parts {
				one.Parts[j].Latency.Buckets = nil
			}
			log.Add(one)
		}
		var err error
		if all, err = log.Compact(time.Hour); err != nil {
			t.Fatal(err)
		}
		all.OmittedFigures = all.Trials[len(all.Trials)-1].Figures
		return all
	}
}()

// fill sets every member to a large value, and every list to so many items.
func fill(v reflect.Value, items int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), items)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), items)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), items, items))
		for i := range items {
			fill(v.Index(i), items)
		}
	case reflect.String:
		v.SetString(strings.Repeat("x", 63))
	case reflect.Int64:
		v.SetInt(1 << 50)
	case reflect.Int32:
		v.SetInt(1 << 30)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("a row has a " + v.Kind().String() + ", which this test cannot fill in")
	}
}

// methodsOfTheAPI are the methods that the API server accepts in rows.
func methodsOfTheAPI(t *testing.T) []v1alpha1.Method {
	t.Helper()
	text, err := os.ReadFile("../charts/nodrop/files/crds/nodrop.dev_benchmarkresults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties struct {
							Spec struct {
								Properties struct {
									Rows struct {
										Items struct {
											Properties struct {
												Method struct {
													Enum []v1alpha1.Method `json:"enum"`
												} `json:"method"`
											} `json:"properties"`
										} `json:"items"`
									} `json:"rows"`
								} `json:"properties"`
							} `json:"spec"`
						} `json:"properties"`
					} `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	methods := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties.Spec.Properties.Rows.Items.Properties.Method.Enum
	if len(methods) == 0 {
		t.Fatal("the CRD lists no methods of rows")
	}
	return methods
}

// testsOf are the settings of tests that lengthen rows.
var testsOf = map[string]string{
	"Throughput": `{"resolution": "0.1%", "minLoad": "1%", "search": "MLRsearch", "lossRatios": ["0%", "0.5%"]}`,
	"Latency":    `{"loads": ["50%", "throughput"]}`,
}

// aTestOf returns a test with the member that has this index in the type Test; false when
// that is no member of the union.
func aTestOf(t *testing.T, index int) (v1alpha1.Test, bool) {
	t.Helper()
	test := v1alpha1.Test{Name: longest("t", 63)}
	member := reflect.ValueOf(&test).Elem().Field(index)
	if member.Kind() != reflect.Pointer {
		return test, false
	}
	text := cmp.Or(testsOf[reflect.TypeFor[v1alpha1.Test]().Field(index).Name], "{}")
	if err := json.Unmarshal([]byte(text), member.Addr().Interface()); err != nil {
		t.Fatal(err)
	}
	return test, true
}

// bridgedBed is a bed of one layer-2 network.
func bridgedBed(ports int) *v1alpha1.TestBed {
	bed := largestBed(ports)
	for i := range bed.Spec.Ports {
		bed.Spec.Ports[i].Addresses = []string{fmt.Sprintf("198.18.%d.%d/15", i>>8, i&255)}
		bed.Spec.Ports[i].Gateways = nil
	}
	return bed
}

// routedBed is a bed with a BGP session on every port, on an engine that holds them.
func routedBed(ports int) *v1alpha1.TestBed {
	bed := largestBed(ports)
	bed.Spec.Engine.Kind, bed.Spec.Device.Containerlab = v1alpha1.EngineSim, nil
	bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	bed.Spec.Routing = &v1alpha1.BedRouting{BGP: v1alpha1.BGPRouting{DeviceASN: 65000, Sessions: []v1alpha1.BGPSession{{Name: "peer", ASN: 100001}}}}
	return bed
}

// routesOf are routes of one session of a bed with sessions; nil of others.
func routesOf(bed *v1alpha1.TestBed) *v1alpha1.ProfileRouting {
	if bed.Spec.Routing == nil {
		return nil
	}
	return &v1alpha1.ProfileRouting{Routes: []v1alpha1.RouteSet{{Name: "routes", Sessions: []string{"peer-" + bed.Spec.Ports[1].Name}, First: "20.0.0.0/24", Count: 60_000}}}
}

// stepsOfAllMethods are the steps of the plans of every test of the API in the
// variants of b, on a bed of 256 ports and with the first pattern that the test can be
// run with, by method.
func stepsOfAllMethods(t *testing.T, b *v1alpha1.Benchmark) map[v1alpha1.Method][]plan.Step {
	t.Helper()
	spec := v1alpha1.TrafficProfileSpec{}
	for i := range int32(16) {
		spec.FrameSizes = append(spec.FrameSizes, 128+i)
	}
	first, _ := aTestOf(t, memberOfTest("Throughput"))
	first.Name = "first"
	steps := map[v1alpha1.Method][]plan.Step{}
	build := func(test v1alpha1.Test) (failures error) {
		b := b.DeepCopy()
		b.Spec.RestTime, b.Spec.Tests = &metav1.Duration{Duration: time.Second}, []v1alpha1.Test{first, test}
		for _, bed := range []*v1alpha1.TestBed{largestBed(256), bridgedBed(256), routedBed(256)} {
			for _, pattern := range []v1alpha1.Pattern{{Pairs: &v1alpha1.PairsPattern{}}, {FanOut: &v1alpha1.FanOutPattern{}}, {FullMesh: &v1alpha1.FullMeshPattern{}}} {
				for _, packet := range []v1alpha1.Packet{{IPv4: &v1alpha1.IPPacket{HostsPerPort: 1}}, {Ethernet: &v1alpha1.EthernetPacket{HostsPerPort: 1}}} {
					spec.Pattern, spec.Packet, spec.Routing = pattern, packet, routesOf(bed)
					profile := objects.TrafficProfile("", "", objects.ProfileSpec(spec))
					if err := manifest.Default(b, profile, bed); err != nil {
						t.Fatal(err)
					}
					p, err := plan.Build(b, profile, bed)
					if err != nil {
						failures = errors.Join(failures, err)
						continue
					}
					for _, s := range p.Steps {
						if s.Test.Name == test.Name {
							steps[s.Method] = append(steps[s.Method], s)
						}
					}
					return nil
				}
			}
		}
		return failures
	}
	for i := range reflect.TypeFor[v1alpha1.Test]().NumField() {
		if test, ok := aTestOf(t, i); ok {
			if err := build(test); err != nil {
				t.Errorf("no plan has a test of member %d of the type Test: add its settings to testsOf: %v", i, err)
			}
		}
	}
	return steps
}

// memberOfTest is the index of a member of the type Test.
func memberOfTest(name string) int {
	member, _ := reflect.TypeFor[v1alpha1.Test]().FieldByName(name)
	return member.Index[0]
}

// TestLargestRows writes the rows of every method of the API, as plans make them on 256
// ports in 16 variants, and measures the objects that hold them; with -short only of one
// variant.
func TestLargestRows(t *testing.T) {
	b := objects.Benchmark(longest("ns", 63), longest("b", 253), objects.UID("0f8fad5b-d9cb-469f-a165-70867728950e"))
	for _, v := range largestBed(2).Spec.Device.Variants {
		b.Spec.Variants = append(b.Spec.Variants, v.Name)
	}
	steps := stepsOfAllMethods(t, b)
	variants := len(b.Spec.Variants)
	if testing.Short() {
		variants = 1 // each part has rows of one variant
	}
	for _, method := range methodsOfTheAPI(t) {
		if len(steps[method]) == 0 {
			t.Errorf("no plan has a step of method %s", method)
			continue
		}
		ledger := results.New(b)
		rows := 0
		for _, step := range steps[method] {
			if !slices.Contains(b.Spec.Variants[:variants], step.Variant) {
				continue
			}
			rows++
			if _, err := ledger.Add(largestRow(t, step)); err != nil {
				t.Fatalf("%s: %v", method, err)
			}
		}
		if err := ledger.Close(); err != nil {
			t.Fatal(err)
		}
		parts, largest := 0, 0
		if err := ledger.Write(func(part *v1alpha1.BenchmarkResult) error {
			text, err := json.Marshal(part)
			parts, largest = parts+1, max(largest, len(text))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		t.Logf("%-20s %4d rows in %3d parts of at most %6d bytes", method, rows, parts, largest)
		if rows < variants || parts < variants || largest > maxObject {
			t.Errorf("%s: %d parts of at most %d bytes; want one for each variant at least, of %d bytes at most", method, parts, largest, maxObject)
		}
	}
}
