package labpage

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/reservation"
)

// TestFree checks when a bed is free next: after its use and the reservations that follow without a gap.
func TestFree(t *testing.T) {
	hour := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
	reserved := func(from, until int) use { return use{From: hour(from), Until: hour(until)} }
	for name, tc := range map[string]struct {
		view bedView
		want nextFree
	}{
		"free":                           {bedView{State: stateFree}, nextFree{At: noon, Now: true}},
		"free until later":               {bedView{State: stateFree, Reserved: []use{reserved(1, 2)}}, nextFree{At: noon, Now: true}},
		"in use":                         {bedView{State: stateInUse, Lease: &use{Until: hour(1)}}, nextFree{At: hour(1), About: true}},
		"at the latest":                  {bedView{State: stateInUse, Lease: &use{Latest: hour(2)}}, nextFree{At: hour(2), Latest: true}},
		"no end known":                   {bedView{State: stateInUse, Lease: &use{}}, nextFree{}},
		"reserved after it":              {bedView{State: stateInUse, Lease: &use{Until: hour(2)}, Reserved: []use{reserved(1, 3), reserved(3, 5), reserved(6, 7)}}, nextFree{At: hour(5)}},
		"reserved":                       {bedView{State: stateReserved, Reserved: []use{reserved(-1, 1)}}, nextFree{At: hour(1)}},
		"closed":                         {bedView{State: stateClosed}, nextFree{}},
		"quarantined, with a lease":      {bedView{State: stateQuarantined, Lease: &use{Until: hour(1)}}, nextFree{}},
		"in use, and closed after that":  {bedView{State: stateInUse, Closing: true, Lease: &use{Until: hour(1)}}, nextFree{}},
		"a reservation that ends before": {bedView{State: stateInUse, Lease: &use{Until: hour(3)}, Reserved: []use{reserved(1, 2)}}, nextFree{At: hour(3), About: true}},
	} {
		tc.view.Now = noon
		if got := tc.view.Free(); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestCalibrationOf checks the age of the calibration of a bed: the one that the bed names, up to its own limit.
func TestCalibrationOf(t *testing.T) {
	day := 24 * time.Hour
	limited := calibratedBy("loop")
	s := &snapshot{at: noon}
	for _, b := range []*v1alpha1.TestBed{
		bed("default", limited), bed("loop", func(b *v1alpha1.TestBed) { *b = *loop("loop", 20) }), bed("none", nil), bed("physical", calibratedBy("none")),
		bed("short", func(b *v1alpha1.TestBed) {
			limited(b)
			b.Spec.Calibration.MaxAge = &metav1.Duration{Duration: 7 * day}
		}),
		bed("simulated", func(b *v1alpha1.TestBed) { b.Spec.Device = v1alpha1.Device{Simulated: &v1alpha1.SimulatedDevice{}} }),
	} {
		s.beds = append(s.beds, *b)
	}
	slices.SortFunc(s.beds, func(a, b v1alpha1.TestBed) int { return compareNaturally(a.Name, b.Name) })
	then := noon.Add(-20 * day)
	for name, want := range map[string]calibrated{
		"default": {Needed: true, At: then, Ends: then.Add(30 * day), By: "loop"}, "short": {Needed: true, At: then, Ends: then.Add(7 * day), Old: true, By: "loop"},
		"loop": {At: then, By: "loop"}, "none": {Needed: true}, "physical": {Needed: true, By: "none"}, "simulated": {},
	} {
		if got := s.calibrationOf(s.bed(name)); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// TestUsesOf adds up the time for which teams had a bed in a week, and names no team that the person may not see.
func TestUsesOf(t *testing.T) {
	ran := func(namespace, name string, from, until int) *v1alpha1.Benchmark {
		return benchmark(namespace, name, v1alpha1.PhasePassed, func(b *v1alpha1.Benchmark) {
			began, ended := at(60*from), at(60*until)
			b.Status.TestBedName, b.Status.StartTime, b.Status.CompletionTime = "b", &began, &ended
		})
	}
	twice := ran("a", "twice", -10, -4)
	lease := at(-5 * 60)
	twice.Status.LeaseTime = &lease // It was preempted before.
	twice.Status.EarlierRuns = []v1alpha1.EarlierRun{{TestBedName: "b", From: at(-600), Until: at(-480)}}
	running := benchmark("c", "running", v1alpha1.PhaseRunning, nil)
	p := newPage(t, fakeAccess("a"), bed("b", leased("c/running")), ran("a", "old", -200, -169), ran("a", "half", -170, -167), twice, ran("c", "other", -4, -1), running)
	lab, err := p.lab.snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v := visible{lab: lab, benchmarks: scope{in: map[string]bool{"a": true}}}
	parts := v.usesOf("b")
	if len(parts) != 2 || parts[0].Team != "a" || parts[0].Hours != 1+1+2 || parts[1].Team != "" || parts[1].Hours != 3+0.5 {
		t.Errorf("the parts are %+v", parts)
	}
	if all := (bedView{Uses: parts}).Used(); all.Hours != 7.5 || fmt.Sprintf("%.2f", all.Percent) != "4.46" {
		t.Errorf("in all %+v", all)
	}
	_, text, _ := get(t, p, "/beds/b")
	if !strings.Contains(text, ">other teams</th>") || strings.Contains(text, ">c</th>") {
		t.Error("the page of a bed does not add up the use by teams that the person may not see")
	}
}

// TestOccurrences checks that the timeline has each occurrence of a recurring reservation, also those for which the status
// of the bed has no place, and that a person gets no more of other teams than is in that status.
func TestOccurrences(t *testing.T) {
	recurring := func(namespace, name string, hour int) *v1alpha1.Reservation {
		return &v1alpha1.Reservation{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       v1alpha1.ReservationSpec{From: at(60 * hour), Until: at(60*hour + 30), Recurrence: &v1alpha1.Recurrence{Rule: "FREQ=DAILY", TimeZone: "UTC"}},
			Status:     v1alpha1.ReservationStatus{Phase: v1alpha1.ReservationScheduled, Beds: []v1alpha1.ReservedBed{{Name: "full"}, {Name: "short"}}},
		}
	}
	lab := &snapshot{at: noon, reservations: []v1alpha1.Reservation{*recurring("a", "morning", 20), *recurring("a", "evening", 8), *recurring("c", "night", 12)}}
	v := visible{lab: lab, reservations: scope{in: map[string]bool{"a": true}}}
	full := bed("full", func(b *v1alpha1.TestBed) {
		for i := range maxPublished {
			name, hour := []string{"a/evening", "c/night", "a/morning"}[i%3], []int{8, 12, 20}[i%3]+i/3*24
			b.Status.Reservations = append(b.Status.Reservations, v1alpha1.BedReservation{Reservation: name, From: at(60 * hour), Until: at(60*hour + 30)})
		}
	})
	short := bed("short", func(b *v1alpha1.TestBed) { b.Status.Reservations = full.Status.Reservations[:3] })
	beds := []bedView{v.bed(full), v.bed(short)}
	v.addOccurrences(beds, reservation.Span{From: noon, Until: noon.Add(7 * 24 * time.Hour)})
	names := map[string]int{}
	for i, u := range beds[0].Reserved {
		names[u.Who.Text]++
		if i > 0 && u.From.Before(beds[0].Reserved[i-1].From) {
			t.Errorf("%v is before the one before it", u)
		}
	}
	if names["a/evening"] != 7 || names["a/morning"] != 7 || names["c/night"] != 3 {
		t.Errorf("the bed has these occurrences: %v", names)
	}
	if n := len(beds[1].Reserved); n != 3 {
		t.Errorf("a bed whose status has all of its reservations has %d, want 3", n)
	}
}

// TestWall checks that the wall has what matters, nothing to operate and no script, and nothing of other teams.
func TestWall(t *testing.T) {
	const hostile = `"'><script>alert(1)</script>`
	p := newPage(t, fakeAccess("a"), someLab(hostile)...)
	status, text, _ := get(t, p, "/wall")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	for _, want := range []string{`<meta http-equiv="refresh" content="30"/>`, "<b>done</b>", "<b>b3</b>", "<b>b5</b>", "<b>run</b>", "1 running, 1 waiting", "alert(1)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the wall lacks %q", want)
		}
	}
	for _, part := range []string{"<script", "<a ", "<button", "<input", "<nav", "<form", "secret", "<noscript", " style="} {
		if strings.Contains(text, part) {
			t.Errorf("the wall has %q", part)
		}
	}
	if _, text, _ := get(t, newPage(t, without(fakeAccess("a"), "testbeds"), someLab("")...), "/wall"); strings.Contains(text, "b5") || !strings.Contains(text, "<b>run</b>") {
		t.Error("a person who may not list TestBeds sees beds on the wall, or not their own benchmarks")
	}
}

// TestTeams checks that the standings are shown to those who may list the LabPolicy, and no others.
func TestTeams(t *testing.T) {
	objects := append(someLab(""), demoPolicy())
	_, text, _ := get(t, newPage(t, fakeAccess("a"), objects...), "/teams")
	for _, want := range []string{">team-routing</th>", "Due in 6 h 0 min", ">37 %<", ">-1 h 30 min<"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
	if first, last := strings.Index(text, "team-routing"), strings.Index(text, "team-vendor"); first > last {
		t.Error("the team that had beds for the longest time is not the first")
	}
	if status, text, _ := get(t, newPage(t, without(fakeAccess("a"), "labpolicies"), objects...), "/teams"); status != http.StatusForbidden || strings.Contains(text, "team-routing") {
		t.Errorf("without the right: status %d: %s", status, text)
	}
	if status, _, _ := get(t, newPage(t, without(fakeAccess("a"), "testbeds"), objects...), "/table"); status != http.StatusForbidden {
		t.Errorf("the table without the right to list TestBeds: status %d", status)
	}
	if _, text, _ := get(t, newPage(t, fakeAccess("a"), someLab("")...), "/teams"); !strings.Contains(text, "no LabPolicy") {
		t.Error("a lab without a LabPolicy does not say so")
	}
}

// TestPlot checks the points of a search, and that a load above line rate stays in the plot.
func TestPlot(t *testing.T) {
	if plotOf(nil) != nil || plotOf(&v1alpha1.Progress{}) != nil {
		t.Error("a plot without trials")
	}
	p := plotOf(&v1alpha1.Progress{RowTrials: []v1alpha1.ProgressTrial{{LoadPPM: 2_000_000, Verdict: v1alpha1.TrialFailed}, {LoadPPM: 500_000, Verdict: v1alpha1.TrialPassed}}})
	if p.Points[0].Y != plotTop || p.Points[1].Y != (plotTop+plotBottom)/2 || p.Points[0].Passed || !p.Points[1].Passed || p.Points[0].X >= p.Points[1].X {
		t.Errorf("the points are %+v", p.Points)
	}
	if want := "2 finished trials of the row in hand; the highest load that passed is 50%; the lowest load that did not pass is 200%"; p.Text != want {
		t.Errorf("got %q, want %q", p.Text, want)
	}
	full := &v1alpha1.Progress{RowTrials: slices.Repeat([]v1alpha1.ProgressTrial{{LoadPPM: 1}}, v1alpha1.MaxRowTrials)}
	if last := plotOf(full).Points[v1alpha1.MaxRowTrials-1]; last.X > plotWidth {
		t.Errorf("the last of %d points is at %d", v1alpha1.MaxRowTrials, last.X)
	}
}

// TestOutcomeColors checks that an outcome has one color on the page and in reports, in light and dark.
func TestOutcomeColors(t *testing.T) {
	colors := func(file, name string) (found []string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`--`+name+`: (#[0-9a-f]{6})`).FindAllStringSubmatch(string(text), 2) {
			found = append(found, m[1])
		}
		return found
	}
	for _, name := range []string{"good", "bad", "open", "accent"} {
		page, report := colors("static/style.css", name), colors("../../reporting/report/html/style.css", name)
		if len(page) != 2 || !slices.Equal(page, report) {
			t.Errorf("%s is %v on the page and %v in reports", name, page, report)
		}
	}
	var all []string
	for _, name := range []string{"good", "bad", "open", "accent", "busy", "held"} {
		all = append(all, colors("static/style.css", name)...)
	}
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
		t.Errorf("two of these colors are equal: %v", all)
	}
}
