package controllers_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/calibration"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// What benchmarks use of others on a real API server.
func TestLearning(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"a bed without a device calibrates another":         calibrates,
		"a benchmark that did not pass calibrates nothing":  calibratesNothing,
		"a search begins where the last one on its bed was": beginsWhereTheLastEnded,
		"two beds with one interface are had by one":        oneInterfaceOneHolder,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// loops is a bed whose two interfaces are joined, and device one where the same
// interfaces lead to a switch.
func loops() *v1alpha1.TestBed {
	bed := virtual("loops")
	bed.Spec.Device = v1alpha1.Device{BackToBack: &v1alpha1.BackToBackDevice{JoinedBy: v1alpha1.JoinedByCables}}
	for i := range bed.Spec.Ports {
		bed.Spec.Ports[i].Gateways = nil
		bed.Spec.Ports[i].Addresses = []string{[]string{"198.18.1.2/24", "198.18.1.3/24"}[i]}
	}
	return bed
}

func device(calibratedBy string) *v1alpha1.TestBed {
	bed := virtual("switch")
	bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Vendor: "acme", Model: "one"}}
	bed.Spec.Calibration = &v1alpha1.CalibrationReference{TestBedName: calibratedBy}
	return bed
}

// conditionsOfLoops contains the conditions of every run here.
var conditionsOfLoops = []v1alpha1.CalibrationCondition{{Name: "kernel", Value: "6.12.1"}}

// found is the state of a runner that has measured the tester.
func found(bed *v1alpha1.TestBed, by string) runner.State {
	s := measured(row(64), row(128))
	for i := range s.Rows {
		s.Rows[i].Frames.Sent, s.Rows[i].Frames.Received = 100, 100
	}
	s.Environment.Calibration = calibration.Of(bed, by, time.Now().Truncate(time.Second), "v0.1.0", s.Rows, conditionsOfLoops)
	return s
}

func calibrates(w *world) {
	create(w.t, w.c, loops(), device("loops"), profile(), benchmark("before", "switch"))
	b := w.reaches("before", v1alpha1.PhaseRunning)
	w.Expect(w.runnerConfig("before").Calibration).To(BeNil(), "a calibration that was not made yet")
	w.Expect(w.bed("switch").Spec.Calibration.MaxAge.Duration).To(Equal(720*time.Hour), "the default")

	// Both beds have the same interfaces: one waits for the other.
	create(w.t, w.c, benchmark("calibrate", "loops"))
	w.reaches("calibrate", v1alpha1.PhaseQueued)
	w.waitsBecause(named("calibrate"), v1alpha1.ReasonQueued, "waits for bed loops, whose interface node1/nd-p1 bed switch has too, which team-routing/before has; comes next")
	w.runners.report(b, measured(row(64)))
	w.reaches("before", v1alpha1.PhaseMeasured)
	b = w.reaches("calibrate", v1alpha1.PhaseRunning)

	state := found(w.bed("loops"), team+"/calibrate")
	w.Expect(state.Environment.Calibration.FrameSizes).To(HaveLen(2))
	w.runners.report(b, state)
	b = w.reaches("calibrate", v1alpha1.PhaseMeasured)
	got := w.bed("loops").Status.Calibration
	w.Expect(got).NotTo(BeNil())
	w.Expect(got).To(Equal(w.stored(b).Environment.Calibration))
	w.Expect(got.Benchmark).To(Equal("team-routing/calibrate"))
	w.Expect(got.Interfaces).To(Equal([]string{"node1/nd-p1", "node1/nd-p2"}))
	w.Expect(got.JoinedBy).To(Equal(v1alpha1.JoinedByCables))

	create(w.t, w.c, benchmark("after", "switch"))
	b = w.reaches("after", v1alpha1.PhaseRunning)
	cfg := w.runnerConfig("after")
	w.Expect(cfg.Calibration).To(Equal(got))
	w.Expect(calibration.Doubt(calibration.Use{
		Bed: &cfg.Bed, Calibration: cfg.Calibration, Time: time.Now(), Version: "v0.1.7", FrameSizes: []int32{64, 128}, Conditions: conditionsOfLoops,
	})).To(BeEmpty())
	w.runners.report(b, measured(row(64)))
	w.reaches("after", v1alpha1.PhaseMeasured)
	w.Expect(w.bed("switch").Status.Calibration).To(BeNil(), "a bed with a device holds none")
	w.bedIsClean("loops")
}

func calibratesNothing(w *world) {
	create(w.t, w.c, loops(), device("nowhere"), profile(), benchmark("calibrate", "loops"))
	state := found(w.bed("loops"), team+"/calibrate")
	state.Outcome, state.Reason = v1alpha1.PhaseFailed, v1alpha1.ReasonNothingForwarded
	w.runners.report(w.reaches("calibrate", v1alpha1.PhaseRunning), state)
	w.reaches("calibrate", v1alpha1.PhaseFailed)
	w.Expect(w.bed("loops").Status.Calibration).To(BeNil())

	// A bed that refers to one that does not exist works, without a calibration.
	create(w.t, w.c, benchmark("b", "switch"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.runnerConfig("b").Calibration).To(BeNil())
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
}

// beginsWhereTheLastEnded runs the runner's configuration of two benchmarks on the
// simulated engine, as their pods would.
func beginsWhereTheLastEnded(w *world) {
	const model = "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us\n64,40,1,2,3\n128,70,1,2,3\n"
	informed := func(b *v1alpha1.Benchmark) { b.Spec.Tests[0].Throughput.Search = v1alpha1.SearchInformed }
	create(w.t, w.c, configMap("model", "model.csv", model), modelled("sim"), profile())
	rows := map[string][]v1alpha1.ResultRow{}
	for _, name := range []string{"first", "second"} {
		create(w.t, w.c, benchmark(name, "sim", informed))
		b := w.reaches(name, v1alpha1.PhaseRunning)
		cfg := w.runnerConfig(name)
		engine, err := runner.NewSim(cfg)
		w.Expect(err).NotTo(HaveOccurred())
		w.runners.report(b, runner.Run(w.t.Context(), cfg, engine))
		rows[name] = w.rows(w.reaches(name, v1alpha1.PhaseMeasured))
		w.bedIsClean("sim")
	}
	first, second := rows["first"], rows["second"]
	w.Expect(second).To(HaveLen(2))
	w.Expect(first[0].Search.Start).To(BeEmpty(), "nothing was known before the first")
	for i := range second {
		w.Expect(second[i].Search.Start).To(Equal("benchmark first"), "row %d", i)
		w.Expect(second[i].Frames.LineRatePPM).To(BeNumerically("~", first[i].Frames.LineRatePPM, 1000), "row %d", i)
		w.Expect(second[i].Trials).To(BeNumerically("<=", first[i].Trials), "row %d", i)
	}
	w.Expect(second[0].Trials).To(BeNumerically("<", first[0].Trials))
}

// oneInterfaceOneHolder creates benchmarks for two beds with the same interfaces all
// at once: at no time are both leased.
func oneInterfaceOneHolder(w *world) {
	create(w.t, w.c, loops(), device("loops"), profile())
	var names []string
	for i := range 3 {
		for _, bed := range []string{"loops", "switch"} {
			name := fmt.Sprintf("%s-%d", bed, i)
			names = append(names, name)
			create(w.t, w.c, benchmark(name, bed))
		}
	}
	running := func() (holders []string, finished int) {
		for _, name := range names {
			b := w.benchmark(name)
			switch {
			case b.Status.Phase.Finished():
				finished++
			case b.Status.TestBedName != "":
				holders = append(holders, name)
			}
		}
		return holders, finished
	}
	var all v1alpha1.TestBedList
	w.Eventually(func() int {
		w.Expect(w.c.List(w.t.Context(), &all)).To(Succeed()) // both as of one moment
		leased := 0
		for _, bed := range all.Items {
			if bed.Status.Lease != nil {
				leased++
			}
		}
		w.Expect(leased).To(BeNumerically("<=", 1), "beds that are leased")
		holders, finished := running()
		for _, name := range holders {
			if b := w.benchmark(name); b.Status.Phase == v1alpha1.PhaseRunning {
				w.runners.report(b, measured(row(64)))
			}
		}
		return finished
	}).WithTimeout(4 * patience).Should(Equal(len(names)))
}
