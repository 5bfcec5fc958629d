package results

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	_ "nodrop.dev/nodrop/internal/measure/method" // every method is planned
	"nodrop.dev/nodrop/internal/measure/runner"
)

// schema validates objects as the API server does.
func schema(t *testing.T, file string) validation.SchemaValidator {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "charts", "nodrop", "files", "crds", file))
	must(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	must(t, yaml.Unmarshal(text, &crd))
	var internal apiextensions.CustomResourceValidation
	must(t, apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(crd.Spec.Versions[0].Schema, &internal, nil))
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	must(t, err)
	return validator
}

func invalid(t *testing.T, v validation.SchemaValidator, object any) field.ErrorList {
	t.Helper()
	text, err := json.Marshal(object)
	must(t, err)
	var plain any
	must(t, utiljson.Unmarshal(text, &plain)) // with whole numbers, as the API server decodes
	return validation.ValidateCustomResource(nil, plain, v)
}

// config is a benchmark with one test of 64 frame sizes.
func config() *runner.Config {
	cfg := &runner.Config{Benchmark: *owner()}
	cfg.Benchmark.Spec.TestBedName, cfg.Benchmark.Spec.TrafficProfileName = "bed", "pairs"
	cfg.Benchmark.Spec.Tests = []v1alpha1.Test{{Name: "soak", Soak: &v1alpha1.SoakTest{Load: "50%"}}}
	cfg.Bed.Name = "bed"
	cfg.Bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	cfg.Bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineSim, Sim: &v1alpha1.SimEngine{Ports: &v1alpha1.SimPorts{Count: 2, Speed: "10G"}}}
	cfg.Profile.Spec = v1alpha1.TrafficProfileSpec{Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}}
	for i := range 64 {
		cfg.Profile.Spec.FrameSizes = append(cfg.Profile.Spec.FrameSizes, int32(64+i))
	}
	return cfg
}

var allPlanned = sync.OnceValue(func() map[v1alpha1.RowID]v1alpha1.Method { return NewChecker(config()).planned })

// planned is a row that the runner of config makes.
func planned(t *testing.T, size int32) v1alpha1.ResultRow {
	t.Helper()
	for id := range allPlanned() {
		if id.FrameSize == size {
			return v1alpha1.ResultRow{RowID: id, Validity: v1alpha1.ValidityValid, Frames: &v1alpha1.FrameSection{Sent: 1, Received: 1}}
		}
	}
	t.Fatalf("the plan has no row of %d bytes", size)
	return v1alpha1.ResultRow{}
}

// A runner of an earlier version ends with Passed where nothing but figures is known.
func TestOutcomeOfAnEarlierRunner(t *testing.T) {
	s := runner.State{Done: true, Outcome: v1alpha1.PhasePassed, Reason: v1alpha1.ReasonAllMeasured}
	if err := NewChecker(config()).state(&s); err != nil || s.Outcome != v1alpha1.PhaseMeasured {
		t.Errorf("outcome %s, %v", s.Outcome, err)
	}
}

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*runner.Answer)
		want   string
	}{
		"what a runner says":   {func(*runner.Answer) {}, ""},
		"a log without a name": {func(a *runner.Answer) { a.Log = "" }, "its log has a name of 0 characters"},
		"another test":         {func(a *runner.Answer) { a.LogRows[0].Test = "latency" }, `no row of test "latency"`},
		"another variant":      {func(a *runner.Answer) { a.LogRows[0].Variant = "fast" }, `variant "fast"`},
		"another method":       {func(a *runner.Answer) { a.LogRows[0].Method = v1alpha1.MethodLatency }, `method "Latency"`},
		"a row twice":          {func(a *runner.Answer) { a.LogRows = append(a.LogRows, a.LogRows[0]) }, "it is in the log twice"},
		"a validity":           {func(a *runner.Answer) { a.LogRows[0].Validity = "Great" }, `its validity is "Great"`},
		"a negative counter":   {func(a *runner.Answer) { a.LogRows[0].Frames.Lost = -1 }, "Frames.Lost is -1"},
		"a large row": {func(a *runner.Answer) {
			a.LogRows[0].Series = &v1alpha1.RateSeries{Points: v1alpha1.RatePoints{SentFramesPerSecond: make([]int64, 2000)}}
		}, "has 2000 items"},
		"an outcome too early":   {func(a *runner.Answer) { a.Outcome = v1alpha1.PhasePassed }, "before its end"},
		"an outcome of its own":  {func(a *runner.Answer) { a.Done, a.Outcome, a.Reason = true, "Great", "Great" }, "do not go together"},
		"progress below nothing": {func(a *runner.Answer) { a.Progress.RowsDone = -1 }, "progress.RowsDone is -1"},
		"an engine":              {func(a *runner.Answer) { a.Environment = &v1alpha1.ResultEnvironment{Engine: "warp"} }, `its engine is "warp"`},
	} {
		t.Run(name, func(t *testing.T) {
			a := runner.Answer{Log: "1", LogRows: []v1alpha1.ResultRow{planned(t, 64)}}
			tc.change(&a)
			err := NewChecker(config()).Check(&a)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	t.Run("a log that begins again", func(t *testing.T) {
		c := NewChecker(config())
		for _, log := range []string{"1", "2"} {
			must(t, c.Check(&runner.Answer{Log: log, LogRows: []v1alpha1.ResultRow{planned(t, 64)}}))
		}
	})
	t.Run("long texts are cut", func(t *testing.T) {
		r := planned(t, 64)
		r.Message, r.ValidityReasons = strings.Repeat("ü", 5000), make([]string, 100)
		a := runner.Answer{Log: "1", LogRows: []v1alpha1.ResultRow{r}}
		a.Message = r.Message
		must(t, NewChecker(config()).Check(&a))
		if got := a.LogRows[0]; len(got.Message) > maxText || len(got.ValidityReasons) > maxReasons || len(a.Message) > maxText || strings.ContainsRune(got.Message, '\uFFFD') {
			t.Errorf("%d bytes, %d reasons", len(got.Message), len(got.ValidityReasons))
		}
	})
}

// Differences of measured numbers are below zero by chance, or as a device is faster with a list than without. Counts are not.
func TestDifferencesBelowZero(t *testing.T) {
	for name, row := range map[string]v1alpha1.ResultRow{
		"a faster list":   {ConfigurationScale: &v1alpha1.ConfigurationScaleSummary{AddedLatencyNs: new(int64(-74)), FailedAddedLatencyNs: new(int64(-5))}},
		"a faster device": {RPCLatency: &v1alpha1.RPCLatencySummary{Device: &v1alpha1.TimeEstimate{Ns: -3, LowNs: -7884, HighNs: -1}}},
		"energy of a bit": {Power: &v1alpha1.RowPower{PicojoulesPerBit: new(int64(-2))}},
		"a falling line":  {Power: &v1alpha1.RowPower{Fit: &v1alpha1.PowerFit{BaseMilliwatts: -1, PicojoulesPerBit: -2}}},
	} {
		if err := numbers(reflect.ValueOf(row), "row"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	wrong := v1alpha1.ResultRow{ConfigurationScale: &v1alpha1.ConfigurationScaleSummary{LatencyWithoutNs: new(int64(-74))}}
	if err := numbers(reflect.ValueOf(wrong), "row"); err == nil {
		t.Error("a latency below zero is accepted")
	}
}

// Every answer of a runner is refused, or makes bounded objects; the API server refuses
// what only the schema refuses.
func TestAnythingThatARunnerAnswers(t *testing.T) {
	parts, statuses := schema(t, "nodrop.dev_benchmarkresults.yaml"), schema(t, "nodrop.dev_benchmarks.yaml")
	accepted, refused := 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 42))
		var rows []v1alpha1.ResultRow
		for _, size := range r.Perm(64)[:1+r.IntN(20)] {
			row := planned(t, int32(64+size))
			row.Message = strings.Repeat("x", r.IntN(3000))
			row.Series = &v1alpha1.RateSeries{Points: v1alpha1.RatePoints{SentFramesPerSecond: make([]int64, r.IntN(240))}}
			rows = append(rows, row)
		}
		a := runner.Answer{Log: fmt.Sprint(seed), LogRows: rows, State: runner.State{
			Done: true, Outcome: v1alpha1.PhasePassed, Reason: v1alpha1.ReasonAllMeasured, Message: strings.Repeat("m", r.IntN(4000)),
			Environment: &v1alpha1.ResultEnvironment{Engine: v1alpha1.EngineSim, EngineDetail: strings.Repeat("d", r.IntN(4000))},
		}}
		text, err := json.Marshal(a)
		must(t, err)
		for range r.IntN(6) {
			text = disturbed(r, text)
		}
		var got runner.Answer
		if json.Unmarshal(text, &got) != nil {
			continue // Not read at all.
		}
		if err := NewChecker(config()).Check(&got); err != nil {
			refused++
			continue
		}
		accepted++
		l := New(owner())
		_, err = l.Add(got.LogRows...)
		must(t, err)
		l.SetEnvironment(got.Environment)
		must(t, l.Close())
		must(t, l.Write(func(p *v1alpha1.BenchmarkResult) error {
			text, err := json.Marshal(p)
			must(t, err)
			if errs := invalid(t, parts, p); len(text) > 128<<10 || len(errs) > 0 {
				t.Fatalf("seed %d: part %s has %d bytes; the API server says %v", seed, p.Name, len(text), errs)
			}
			return nil
		}))
		b := config().Benchmark
		b.Status.Phase, b.Status.Message, b.Status.Progress = got.Outcome, human.Cut(got.Message, 768), &got.Progress
		b.Status.Results = &v1alpha1.ResultSummary{}
		l.Summarize(b.Status.Results)
		status, err := json.Marshal(b.Status)
		must(t, err)
		if errs := invalid(t, statuses, &b); len(status) > 32<<10 || len(errs) > 0 {
			t.Fatalf("seed %d: a status of %d bytes; the API server says %v", seed, len(status), errs)
		}
	}
	t.Logf("%d answers were accepted, %d refused", accepted, refused)
	if accepted < 50 || refused < 50 {
		t.Errorf("%d answers were accepted and %d refused: the test shows nothing", accepted, refused)
	}
}

// disturbed is JSON of which one value is another one.
func disturbed(r *rand.Rand, text []byte) []byte {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return text
	}
	strange := []any{
		nil, -1.0, 1e18, 0.0, "", strings.Repeat("y", 5000), "Passed", "Valid", true, map[string]any{}, []any{}, "\u0000", "<script>", "64",
	}
	replace(r, v, strange[r.IntN(len(strange))])
	out, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return out
}

// replace puts another value somewhere into v.
func replace(r *rand.Rand, v, other any) {
	switch v := v.(type) {
	case map[string]any:
		var keys []string
		for key := range v {
			keys = append(keys, key)
		}
		if len(keys) == 0 {
			return
		}
		slices.Sort(keys)
		key := keys[r.IntN(len(keys))]
		if r.IntN(3) == 0 {
			v[key] = other
			return
		}
		replace(r, v[key], other)
	case []any:
		if len(v) > 0 {
			replace(r, v[r.IntN(len(v))], other)
		}
	}
}
