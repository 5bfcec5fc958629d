package charts_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// TestDefinitions holds the definitions to what only a real API server does with
// them. Webhooks are not installed.
func TestDefinitions(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	config, env := testserver.StartAPIServer(t, nil)
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("accepted", func(t *testing.T) { accepted(t, c) })
	c = client.NewNamespacedClient(c, "default")
	t.Run("order", func(t *testing.T) { order(t, c) })
	t.Run("server-side apply of ports", func(t *testing.T) { applied(t, c) })
	t.Run("loads", func(t *testing.T) { loads(t, c) })
	t.Run("repeated", func(t *testing.T) { repeated(t, c) })
	t.Run("defaults of Go clients", func(t *testing.T) { defaults(t, c) })
	t.Run("samples applied again", func(t *testing.T) { again(t, config, env) })
}

// accepted reads what the API server installed. It computes the cost of every CEL rule and refuses schemas that are too dear, so
// that only it can say whether the definitions can be installed.
func accepted(t *testing.T, c client.Client) {
	var definitions apiextensionsv1.CustomResourceDefinitionList
	if err := c.List(t.Context(), &definitions); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(kubetest.Root(t), "charts", "nodrop", "files", "crds", "nodrop.dev_*.yaml"))
	if err != nil || len(files) == 0 || len(definitions.Items) != len(files) {
		t.Errorf("%d definitions were installed of %d files (%v)", len(definitions.Items), len(files), err)
	}
	for _, d := range definitions.Items {
		for _, c := range d.Status.Conditions {
			if c.Type == apiextensionsv1.NonStructuralSchema && c.Status == apiextensionsv1.ConditionTrue {
				t.Errorf("%s: %s", d.Name, c.Message)
			}
		}
	}
}

// parse reads one object.
func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), u); err != nil {
		t.Fatal(err)
	}
	return u
}

const header = "apiVersion: nodrop.dev/v1alpha1\n"

// benchmarkOf is a benchmark with these tests, in a list of YAML's flow style.
func benchmarkOf(tests string) string {
	return header + "kind: Benchmark\nmetadata: {generateName: b-}\nspec: {testBedName: bed, trafficProfileName: p, tests: " + tests + "}\n"
}

// profileOf is a traffic profile with this spec.
func profileOf(spec string) string {
	return header + "kind: TrafficProfile\nmetadata: {generateName: p-}\nspec: " + spec + "\n"
}

// order reverses lists of profiles, which cannot be changed. The API server compares
// lists of the types map and set without regard to order. Of benchmarks the webhook compares them.
func order(t *testing.T, c client.Client) {
	const cannotChange = "cannot be changed"
	for name, tc := range map[string]struct {
		text string
		// list leads to the list that is reversed.
		list []string
		want string
	}{
		"frame sizes": {profileOf("{frameSizes: [64, 128], pattern: {pairs: {}}, packet: {ipv4: {}}}"),
			[]string{"spec", "frameSizes"}, cannotChange},
		"frame mixes": {profileOf("{frameMixes: [{name: a, imix: Simple}, {name: b, genome: aab}], pattern: {pairs: {}}, packet: {ipv4: {}}}"),
			[]string{"spec", "frameMixes"}, cannotChange},
		"sizes of a mix": {profileOf("{frameMixes: [{name: a, weights: [{frameSize: 64, weight: 1}, {frameSize: 128, weight: 2}]}], pattern: {pairs: {}}, packet: {ipv4: {}}}"),
			[]string{"spec", "frameMixes", "weights"}, cannotChange},
		"senders": {profileOf("{pattern: {partialMesh: {senders: [p1, p2], receivers: [p3, p4]}}, packet: {ipv4: {}}}"),
			[]string{"spec", "pattern", "partialMesh", "senders"}, cannotChange},
		"receivers": {profileOf("{pattern: {partialMesh: {senders: [p1, p2], receivers: [p3, p4]}}, packet: {ipv4: {}}}"),
			[]string{"spec", "pattern", "partialMesh", "receivers"}, cannotChange},
		"labels": {profileOf("{frameSizes: [128], pattern: {pairs: {}}, packet: {ipv4: {}, mpls: {labels: [16, 17]}}}"),
			[]string{"spec", "packet", "mpls", "labels"}, cannotChange},
	} {
		t.Run(name, func(t *testing.T) {
			u := parse(t, tc.text)
			if err := c.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			reversed := u.DeepCopy()
			if !reverse(reversed.Object, tc.list) {
				t.Fatalf("%v has no list of two", tc.list)
			}
			kubetest.Refused(t, c.Update(t.Context(), reversed), tc.want)
			// What is no change passes.
			u.SetLabels(map[string]string{"a": "b"})
			if err := c.Update(t.Context(), u); err != nil {
				t.Errorf("a label cannot be added: %v", err)
			}
		})
	}
}

// reverse reverses the list at a path, through the first item of lists on the way.
func reverse(at any, path []string) bool {
	if list, is := at.([]any); is && len(list) > 0 {
		if len(path) == 0 {
			slices.Reverse(list)
			return len(list) == 2
		}
		return reverse(list[0], path)
	}
	object, is := at.(map[string]any)
	return is && len(path) > 0 && reverse(object[path[0]], path[1:])
}

// repeated gives items of a list twice.
func repeated(t *testing.T, c client.Client) {
	for name, tc := range map[string]struct {
		text, want string
	}{
		"a test": {benchmarkOf("[{name: a, latency: {}}, {name: a, soak: {}}]"),
			"tests has the name a more than once: give every test a name of its own"},
		"a load": {benchmarkOf("[{name: a, latency: {loads: [10%, 50%, 10%]}}]"),
			"loads has 10% more than once: name every load once"},
		"a load of an ordering test": {benchmarkOf("[{name: a, ordering: {loads: [10%, 50%, 10%]}}]"),
			"loads has 10% more than once: name every load once"},
		"a loss ratio": {benchmarkOf("[{name: a, throughput: {search: MLRsearch, lossRatios: [0%, 0%]}}]"),
			"lossRatios has 0% more than once: name every ratio once"},
		"a frame size": {profileOf("{frameSizes: [64, 128, 64], pattern: {pairs: {}}, packet: {ipv4: {}}}"),
			"frameSizes has 64 more than once: name every size once"},
		"a frame mix": {profileOf("{frameMixes: [{name: a, imix: Simple}, {name: a, genome: aab}], pattern: {pairs: {}}, packet: {ipv4: {}}}"),
			"frameMixes has the name a more than once: give every mix a name of its own"},
	} {
		t.Run(name, func(t *testing.T) { kubetest.Refused(t, c.Create(t.Context(), parse(t, tc.text)), tc.want) })
	}
}

// defaults creates objects with Go types that give nothing, and with YAML that gives
// nothing: the API server has to store the same.
func defaults(t *testing.T, c client.Client) {
	for name, tc := range map[string]struct {
		object client.Object
		text   string
	}{
		"all tests with frames and routes": {
			objects.Benchmark("", "",
				objects.BedName("bed"), objects.ProfileName("p"),
				objects.Tests([]v1alpha1.Test{
					{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}},
					{Name: "latency", Latency: &v1alpha1.LatencyTest{}},
					{Name: "frame-loss", FrameLoss: &v1alpha1.FrameLossTest{}},
					{Name: "back-to-back", BackToBack: &v1alpha1.BackToBackTest{}},
					{Name: "soak", Soak: &v1alpha1.SoakTest{}},
					{Name: "forwarding-rate", ForwardingRate: &v1alpha1.ForwardingRateTest{}},
					{Name: "ordering", Ordering: &v1alpha1.OrderingTest{}},
					{Name: "recovery", Recovery: &v1alpha1.RecoveryTest{}},
					{Name: "address-caching", AddressCaching: &v1alpha1.AddressCachingTest{}},
					{Name: "address-learning", AddressLearning: &v1alpha1.AddressLearningTest{}},
					{Name: "broadcast", Broadcast: &v1alpha1.BroadcastTest{}},
					{Name: "head-of-line", HeadOfLineBlocking: &v1alpha1.HeadOfLineBlockingTest{}},
					{Name: "congestion", CongestionControl: &v1alpha1.CongestionControlTest{}},
					{Name: "join", GroupJoinDelay: &v1alpha1.GroupJoinDelayTest{}},
					{Name: "leave", GroupLeaveDelay: &v1alpha1.GroupLeaveDelayTest{}},
					{Name: "groups", GroupCapacity: &v1alpha1.GroupCapacityTest{}},
					{Name: "reset", Reset: &v1alpha1.ResetTest{}},
					{Name: "rfc2544", RFC2544Latency: &v1alpha1.RFC2544LatencyTest{}},
					{Name: "buffer", BufferSize: &v1alpha1.BufferSizeTest{}},
					{Name: "routes", RouteCapacity: &v1alpha1.RouteCapacityTest{}},
					{Name: "convergence", Convergence: &v1alpha1.ConvergenceTest{}},
					{Name: "flap", RouteFlap: &v1alpha1.RouteFlapTest{}},
					{Name: "refresh", RouteRefresh: &v1alpha1.RouteRefreshTest{}},
					{Name: "restart", BGPRestart: &v1alpha1.BGPRestartTest{}},
					{Name: "scale", SessionScale: &v1alpha1.SessionScaleTest{}},
					{Name: "fib", FIBTruth: &v1alpha1.FIBTruthTest{}},
					{Name: "lists", ConfigurationScale: &v1alpha1.ConfigurationScaleTest{}},
				}...),
			),
			benchmarkOf("[{name: throughput, throughput: {}}, {name: latency, latency: {}}, {name: frame-loss, frameLoss: {}}, {name: back-to-back, backToBack: {}}, {name: soak, soak: {}}, " +
				"{name: forwarding-rate, forwardingRate: {}}, {name: ordering, ordering: {}}, {name: recovery, recovery: {}}, {name: address-caching, addressCaching: {}}, " +
				"{name: address-learning, addressLearning: {}}, {name: broadcast, broadcast: {}}, {name: head-of-line, headOfLineBlocking: {}}, {name: congestion, congestionControl: {}}, " +
				"{name: join, groupJoinDelay: {}}, {name: leave, groupLeaveDelay: {}}, {name: groups, groupCapacity: {}}, {name: reset, reset: {}}, {name: rfc2544, rfc2544Latency: {}}, {name: buffer, bufferSize: {}}, {name: routes, routeCapacity: {}}, {name: convergence, convergence: {}}, {name: flap, routeFlap: {}}, {name: refresh, routeRefresh: {}}, {name: restart, bgpRestart: {}}, {name: scale, sessionScale: {}}, {name: fib, fibTruth: {}}, {name: lists, configurationScale: {}}]"),
		},
		"all tests of workloads, and MLRsearch": {
			objects.Benchmark("", "",
				objects.BedName("bed"), objects.ProfileName("p"),
				objects.Tests([]v1alpha1.Test{
					{Name: "incast", Incast: &v1alpha1.IncastTest{}},
					{Name: "connections", Connections: &v1alpha1.ConnectionsTest{Measure: v1alpha1.ConnectionsCapacity}},
					{Name: "rpc", RPCLatency: &v1alpha1.RPCLatencyTest{}},
					{Name: "collectives", Collectives: &v1alpha1.CollectivesTest{}},
					{Name: "bulk", Bulk: &v1alpha1.BulkTest{}},
					{Name: "messages", MessageRate: &v1alpha1.MessageRateTest{}},
					{Name: "mlr", Throughput: &v1alpha1.ThroughputTest{Search: v1alpha1.SearchMLRsearch, MLRSearch: &v1alpha1.MLRsearchGoal{}}},
				}...),
			),
			benchmarkOf("[{name: incast, incast: {}}, {name: connections, connections: {measure: Capacity}}, {name: rpc, rpcLatency: {}}, {name: collectives, collectives: {}}, {name: bulk, bulk: {}}, {name: messages, messageRate: {}}, " +
				"{name: mlr, throughput: {search: MLRsearch, mlrSearch: {}}}]"),
		},
		"a profile": {
			objects.TrafficProfile("", "", objects.ProfileSpec(v1alpha1.TrafficProfileSpec{
				Pattern: v1alpha1.Pattern{NToN: &v1alpha1.NToNPattern{}},
				Packet:  v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}, UDP: &v1alpha1.UDPPacket{}, VLAN: &v1alpha1.VLANTag{ID: 1}},
			})),
			profileOf("{pattern: {nToN: {}}, packet: {ipv4: {}, udp: {}, vlan: {id: 1}}}"),
		},
		"a profile of Ethernet": {
			objects.TrafficProfile("", "", objects.ProfileSpec(v1alpha1.TrafficProfileSpec{
				Pattern: v1alpha1.Pattern{PartialMesh: &v1alpha1.PartialMeshPattern{SenderCount: new(int32(1))}},
				Packet:  v1alpha1.Packet{Ethernet: &v1alpha1.EthernetPacket{}},
			})),
			profileOf("{pattern: {partialMesh: {senderCount: 1}}, packet: {ethernet: {}}}"),
		},
		"a bed": {
			objects.TestBed("",
				objects.Device(v1alpha1.Device{Simulated: &v1alpha1.SimulatedDevice{
					Model:     v1alpha1.ModelSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "m", Key: "k"}},
					Behaviour: &v1alpha1.SimulatedBehaviour{},
				}}),
				objects.Sim(2, "1G"), objects.Access(v1alpha1.AccessGrant{Names: []string{"team"}}),
			),
			header + "kind: TestBed\nmetadata: {generateName: t-}\nspec: {device: {simulated: {model: {configMapRef: {name: m, key: k}}, behaviour: {}}}, " +
				"engine: {kind: sim, sim: {ports: {count: 2, speed: 1G}}}, access: [{names: [team]}]}\n",
		},
		"a bed without a device": {
			objects.TestBed("",
				objects.BackToBack(), objects.Engine(v1alpha1.EngineXDP),
				objects.Ports(v1alpha1.Port{Name: "p1", Node: "node1", Speed: "1G", Attachment: objects.HostDevice("e")}),
			),
			header + "kind: TestBed\nmetadata: {generateName: t-}\nspec: {device: {backToBack: {}}, engine: {kind: xdp}, ports: [{name: p1, node: node1, speed: 1G, attachment: {hostDevice: {interface: e}}}]}\n",
		},
		"a bed that names its calibration": {
			objects.TestBed("",
				objects.Physical("v", "m"), objects.TRex(&v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}),
				objects.BedFunc(func(b *v1alpha1.TestBed) { b.Spec.Calibration = &v1alpha1.CalibrationReference{TestBedName: "loops"} }),
				objects.Ports(v1alpha1.Port{Name: "p1", Node: "node1", Speed: "1G", Attachment: objects.HostDevice("e")}),
			),
			header + "kind: TestBed\nmetadata: {generateName: t-}\nspec: {device: {physical: {vendor: v, model: m}}, engine: {kind: trex, trex: {software: {}}}, calibration: {testBedName: loops}, ports: [{name: p1, node: node1, speed: 1G, attachment: {hostDevice: {interface: e}}}]}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := parse(t, tc.text)
			if err := c.Create(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			tc.object.SetGenerateName("go-")
			if err := c.Create(t.Context(), tc.object); err != nil {
				t.Fatal(err)
			}
			got := &unstructured.Unstructured{}
			got.SetGroupVersionKind(want.GroupVersionKind())
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(tc.object), got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
				t.Errorf("spec (-of YAML +of Go types):\n%s", diff)
			}
		})
	}
}
