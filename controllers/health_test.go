package controllers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/notifications"
	"nodrop.dev/nodrop/controllers/reservations"
	"nodrop.dev/nodrop/controllers/schedules"
	"nodrop.dev/nodrop/internal/manifests/reservation"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// noon is the time in these tests.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// argoHealth runs the health check of docs/pipelines as Argo CD does, with its Lua library.
func argoHealth(t *testing.T, o client.Object) (health, message string) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("..", "docs", "pipelines", "argocd", "health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	// Only these libraries are open to scripts in Argo CD.
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	l.SetGlobal("obj", luaValue(l, content))
	if err := l.DoString(string(script)); err != nil {
		t.Fatalf("%s: %v", o.GetObjectKind().GroupVersionKind().Kind, err)
	}
	answer, isTable := l.Get(-1).(*lua.LTable)
	if !isTable {
		t.Fatalf("the script returned %v", l.Get(-1))
	}
	return answer.RawGetString("status").String(), answer.RawGetString("message").String()
}

// luaValue is a value of JSON in Lua.
func luaValue(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, value := range v {
			table.RawSetString(key, luaValue(l, value))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, value := range v {
			table.Append(luaValue(l, value))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case nil:
		return lua.LNil
	}
	panic(fmt.Sprintf("%T is no value of the API", v))
}

// healthOf maps the status of kstatus to the health status of Argo CD.
var healthOf = map[status.Status]string{
	status.CurrentStatus: "Healthy", status.InProgressStatus: "Progressing", status.FailedStatus: "Degraded", status.TerminatingStatus: "Progressing",
}

// TestHealth reads every kind in each of its states, as the operator writes them, by the health
// check for Argo CD and by kstatus, which Flux uses. Both find the same.
func TestHealth(t *testing.T) {
	cases := map[string]struct {
		o    client.Object
		want status.Status
	}{}
	add := func(name string, want status.Status, o client.Object) {
		cases[name] = struct {
			o    client.Object
			want status.Status
		}{o, want}
	}
	for phase, want := range map[v1alpha1.BenchmarkPhase]status.Status{
		"": status.InProgressStatus, v1alpha1.PhasePending: status.InProgressStatus, v1alpha1.PhaseQueued: status.InProgressStatus,
		v1alpha1.PhasePreparing: status.InProgressStatus, v1alpha1.PhaseRunning: status.InProgressStatus, v1alpha1.PhaseCleaningUp: status.InProgressStatus,
		v1alpha1.PhasePassed: status.CurrentStatus, v1alpha1.PhaseMeasured: status.CurrentStatus, v1alpha1.PhaseInconclusive: status.FailedStatus, v1alpha1.PhaseFailed: status.FailedStatus,
		v1alpha1.PhaseInvalid: status.FailedStatus, v1alpha1.PhaseAborted: status.FailedStatus, v1alpha1.PhaseError: status.FailedStatus,
	} {
		b := inPhase(phase)
		kit.Summarize(b, noon)
		add("Benchmark "+string(phase), want, b)
	}
	edited := inPhase(v1alpha1.PhaseMeasured)
	kit.Summarize(edited, noon)
	edited.Generation = 2
	add("Benchmark edited", status.InProgressStatus, edited)
	fresh := inPhase("")
	fresh.Status.ObservedGeneration = -1
	add("Benchmark fresh", status.InProgressStatus, fresh)
	stuckOne := inPhase(v1alpha1.PhaseQueued)
	kit.SetCondition(&stuckOne.Status.Conditions, noon, 1, metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotAccepted, Message: "why"})
	kit.Summarize(stuckOne, noon)
	kit.Summarize(stuckOne, noon.Add(2*kit.StallAfter))
	add("Benchmark stuck", status.FailedStatus, stuckOne)

	bed := func(reason string, holds bool, after time.Duration) *v1alpha1.TestBed {
		b := objects.TestBed("bed", objects.Generation(1))
		b.Status.ObservedGeneration = 1
		if reason != "" {
			state := metav1.ConditionFalse
			if holds {
				state = metav1.ConditionTrue
			}
			kit.SetCondition(&b.Status.Conditions, noon, 1, metav1.Condition{Type: v1alpha1.ConditionReady, Status: state, Reason: reason, Message: "why"})
		}
		kit.SummarizeBed(b, noon)
		kit.SummarizeBed(b, noon.Add(after))
		return b
	}
	add("TestBed fresh", status.InProgressStatus, bed("", false, 0))
	add("TestBed ready", status.CurrentStatus, bed(v1alpha1.ReasonBedReady, true, 0))
	add("TestBed invalid for a moment", status.InProgressStatus, bed(v1alpha1.ReasonBedInvalid, false, 0))
	add("TestBed invalid", status.FailedStatus, bed(v1alpha1.ReasonBedInvalid, false, 2*kit.StallAfter))
	add("TestBed quarantined", status.FailedStatus, bed(v1alpha1.ReasonBedQuarantined, false, 2*kit.StallAfter))
	add("TestBed deleted", status.InProgressStatus, bed(v1alpha1.ReasonBedDeleted, false, 0))

	for name, of := range map[string]struct {
		state  metav1.ConditionStatus
		reason string
		want   status.Status
	}{
		"scheduled": {metav1.ConditionTrue, "Scheduled", status.CurrentStatus}, "waiting": {metav1.ConditionTrue, "WaitingForEarlier", status.CurrentStatus},
		"refused": {metav1.ConditionFalse, "FiringRefused", status.FailedStatus}, "behind": {metav1.ConditionFalse, "ClockBehind", status.FailedStatus},
	} {
		s := &v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Name: "s", Generation: 1}}
		s.Status.ObservedGeneration = 1
		(&schedules.Timetable{BenchmarkSchedule: s, Now: noon}).Ready(of.state, of.reason, "why")
		add("BenchmarkSchedule "+name, of.want, s)
	}
	for reason, want := range map[string]status.Status{
		v1alpha1.ReasonSinkReady: status.CurrentStatus, v1alpha1.ReasonHostNotAllowed: status.FailedStatus,
		v1alpha1.ReasonSecretUnreadable: status.FailedStatus, v1alpha1.ReasonSinkInvalid: status.FailedStatus,
	} {
		s := &v1alpha1.NotificationSink{ObjectMeta: metav1.ObjectMeta{Name: "s", Generation: 1}}
		notifications.ShowSink(s, reason, "why", noon)
		add("NotificationSink "+reason, want, s)
	}
	for name, of := range map[string]struct {
		now  time.Time
		bed  string
		want status.Status
	}{
		"pending": {noon, "nobody", status.FailedStatus}, "scheduled": {noon.Add(-time.Hour), "bed", status.CurrentStatus},
		"active": {noon, "bed", status.CurrentStatus}, "ended": {noon.Add(5 * time.Hour), "bed", status.CurrentStatus},
	} {
		add("Reservation "+name, of.want, reservedAt(of.now, of.bed))
	}
	add("TrafficProfile", status.CurrentStatus, objects.TrafficProfile("", "p", objects.Generation(1)))

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			known(tc.o)
			if got := kubetest.KStatus(t, tc.o); got != tc.want {
				t.Errorf("kstatus %s, want %s", got, tc.want)
			}
			if got, message := argoHealth(t, tc.o); got != healthOf[tc.want] {
				t.Errorf("Argo CD: %s (%s), want %s", got, message, healthOf[tc.want])
			}
		})
	}
	t.Run("suspended", func(t *testing.T) {
		s := &v1alpha1.BenchmarkSchedule{Spec: v1alpha1.BenchmarkScheduleSpec{Suspend: true}}
		known(s)
		if got, _ := argoHealth(t, s); got != "Suspended" {
			t.Errorf("Argo CD: %s of a suspended schedule", got)
		}
	})
	t.Run("deleted", func(t *testing.T) {
		b := inPhase(v1alpha1.PhaseRunning)
		b.DeletionTimestamp = &metav1.Time{Time: noon}
		known(b)
		if got, _ := argoHealth(t, b); got != "Progressing" {
			t.Errorf("Argo CD: %s of a benchmark that is being deleted", got)
		}
	})
}

// TestHealthOfEveryKind checks that the example gives Argo CD the script for each kind that
// people write.
func TestHealthOfEveryKind(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "pipelines", "argocd", "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct {
		ConfigMapGenerator []struct{ Files []string }
	}
	if err := yaml.Unmarshal(text, &kustomization); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Benchmark", "BenchmarkSchedule", "NotificationSink", "Reservation", "TestBed", "TrafficProfile"} {
		if want := "resource.customizations.health.nodrop.dev_" + kind + "=health.lua"; !slices.Contains(kustomization.ConfigMapGenerator[0].Files, want) {
			t.Errorf("no %s", want)
		}
	}
}

// known gives an object the kind that it has when it is read.
func known(o client.Object) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	kinds, _, err := scheme.ObjectKinds(o)
	if err != nil {
		panic(err)
	}
	o.GetObjectKind().SetGroupVersionKind(kinds[0])
}

// inPhase returns a benchmark in a phase, whose specification was seen.
func inPhase(phase v1alpha1.BenchmarkPhase) *v1alpha1.Benchmark {
	b := objects.Benchmark("team", "b", objects.Generation(1))
	b.Status.Phase, b.Status.ObservedGeneration = phase, 1
	return b
}

// reservedAt is a reservation from noon on for two hours as the operator shows it at a time.
func reservedAt(now time.Time, bed string) *v1alpha1.Reservation {
	r := &v1alpha1.Reservation{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "r", Generation: 1}}
	r.Spec = v1alpha1.ReservationSpec{TestBedNames: []string{bed}, From: metav1.NewTime(noon), Until: metav1.NewTime(noon.Add(2 * time.Hour))}
	lab := reservation.CalendarInput{
		Reservations: []*v1alpha1.Reservation{r}, Namespace: "nodrop-lab",
		Beds:       map[string]*v1alpha1.TestBed{"bed": {ObjectMeta: metav1.ObjectMeta{Name: "bed"}, Spec: v1alpha1.TestBedSpec{Access: []v1alpha1.AccessGrant{{Names: []string{"team"}, MaxDuration: metav1.Duration{Duration: 12 * time.Hour}}}}}},
		Namespaces: map[string]*corev1.Namespace{"team": {ObjectMeta: metav1.ObjectMeta{Name: "team"}}},
	}
	cal := reservation.NewCalendar(lab, reservation.Span{From: now, Until: now.Add(reservation.Horizon)})
	reservations.ShowReservation(r, reservations.Bookings{Calendar: cal}, now)
	return r
}
