package controllers_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestConnections hands connection data out to those who have reserved a bed.
func TestConnections(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"around a reservation":            connectionsAround,
		"released and shortened":          connectionsReleased,
		"of two reservations":             connectionsOfTwo,
		"while others have the bed":       connectionsOccupied,
		"a Secret that is not there":      connectionsMissing,
		"a maintenance window":            connectionsOfTheLab,
		"a Secret of somebody else":       connectionsOfAnother,
		"a lab that does not":             connectionsOff,
		"a Secret of another kind":        connectionsOfAnotherType,
		"rights on Secrets of teams":      connectionRights,
		"an operator that was not there":  connectionsLate,
		"a grant that is withdrawn":       connectionsWithoutGrant,
		"a bed that others reserve first": connectionsOfTheFirst,
	} {
		t.Run(name, func(t *testing.T) {
			tc(newWorld(t, server, func(w *world) { w.connections = name != "a lab that does not" }))
		})
	}
}

// consoleOfSim is a datum that no object but two Secrets may have.
const consoleOfSim = "ssh-to-ts1-port-2001"

// connected is a bed with connection data.
func connected(name string) *v1alpha1.TestBed {
	bed := modelled(name)
	bed.Spec.Connection = &v1alpha1.BedConnection{SecretName: name + "-access"}
	return bed
}

func accessTo(bed, console string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: labNamespace, Name: bed + "-access"}, Type: v1alpha1.ConnectionSecretType, StringData: map[string]string{"console": console, "user": "admin"}}
}

// handedOut returns the contents of the Secret of a namespace, or nil if it does not exist.
func (w *world) handedOut(namespace string) map[string]string {
	s := &corev1.Secret{}
	err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: v1alpha1.ConnectionSecretName}, s)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(HaveOccurred())
	data := map[string]string{}
	for key, value := range s.Data {
		data[key] = string(value)
	}
	return data
}

func (w *world) handsOut(namespace string, matcher any) {
	w.t.Helper()
	w.Eventually(func() map[string]string { return w.handedOut(namespace) }).Should(Satisfy(func(got map[string]string) bool {
		ok, err := Equal(matcher).Match(got)
		return ok && err == nil
	}), "what namespace %s has", namespace)
}

var (
	ofSim   = map[string]string{"sim_console": consoleOfSim, "sim_user": "admin"}
	nothing map[string]string
)

// connectionMessage waits for the message of a reservation about its connection data.
func (w *world) connectionMessage(name, prefix string) {
	w.t.Helper()
	w.Eventually(func() string { return w.messageOf(name, v1alpha1.ConditionConnectionData) }).Should(HavePrefix(prefix))
}

func connectionsAround(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), connected("sim"), accessTo("sim", consoleOfSim), booked(w, team, "hands-on", time.Hour, 2*time.Hour))
	w.connectionMessage("hands-on", "False BedNotHeld: they are handed out while the reservation has the bed")
	w.Eventually(func() bool {
		return meta.IsStatusConditionTrue(w.bed("sim").Status.Conditions, v1alpha1.ConditionConnectionData)
	}).Should(BeTrue())
	w.Expect(w.handedOut(team)).To(BeNil())
	w.passAndWake(61 * time.Minute)
	w.handsOut(team, ofSim)
	w.connectionMessage("hands-on", "True HandedOut: kubectl get secret nodrop-connections -n team-routing")
	r := w.reservation("hands-on")
	w.Expect(r.Status.ConnectionSecretName).To(Equal("nodrop-connections"))
	s := &corev1.Secret{}
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: team, Name: "nodrop-connections"}, s)).To(Succeed())
	w.Expect(s.OwnerReferences).To(ConsistOf(And(HaveField("UID", r.UID), HaveField("Kind", "Reservation"))))
	w.Expect(s.Type).To(Equal(corev1.SecretTypeOpaque))

	// What the owner of the lab changes reaches those who have the bed.
	source := accessTo("sim", "another-console")
	w.Expect(w.c.Update(w.t.Context(), source)).To(Succeed())
	w.handsOut(team, map[string]string{"sim_console": "another-console", "sim_user": "admin"})
	w.Expect(w.c.Update(w.t.Context(), accessTo("sim", consoleOfSim))).To(Succeed())
	w.handsOut(team, ofSim)

	w.passAndWake(time.Hour)
	w.handsOut(team, nothing)
	w.connectionMessage("hands-on", "False BedNotHeld")
	w.Expect(w.reservation("hands-on").Status.ConnectionSecretName).To(BeEmpty())
	for _, kind := range []schema.GroupVersionKind{
		v1alpha1.GroupVersion.WithKind("ReservationList"), v1alpha1.GroupVersion.WithKind("TestBedList"),
		corev1.SchemeGroupVersion.WithKind("EventList"), corev1.SchemeGroupVersion.WithKind("ConfigMapList"),
	} {
		w.without(consoleOfSim, kind)
	}
}

// amend changes an object, even if other clients change it at the same time.
func (w *world) amend(o client.Object, change func()) {
	w.t.Helper()
	before := o.DeepCopyObject().(client.Object)
	change()
	w.Expect(w.c.Patch(w.t.Context(), o, client.MergeFrom(before))).To(Succeed())
}

func connectionsReleased(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), connected("sim"), accessTo("sim", consoleOfSim), booked(w, team, "a", -time.Minute, time.Hour))
	w.handsOut(team, ofSim)
	w.Expect(w.c.Delete(w.t.Context(), w.reservation("a"))).To(Succeed())
	w.handsOut(team, nothing)
	create(w.t, w.c, booked(w, team, "b", -time.Minute, time.Hour))
	w.handsOut(team, ofSim)
	b := w.reservation("b")
	w.amend(b, func() { b.Spec.Until = metav1.NewTime(b.Spec.From.Add(10 * time.Second)) })
	w.handsOut(team, nothing)
	daily := booked(w, team, "daily", -time.Minute, time.Hour)
	daily.Spec.Recurrence = &v1alpha1.Recurrence{Rule: "FREQ=DAILY", TimeZone: "UTC"}
	create(w.t, w.c, daily)
	w.handsOut(team, ofSim)
	// What kubectl nodrop release does with one that recurs.
	daily = w.reservation("daily")
	w.amend(daily, func() { daily.Spec.Recurrence.Exceptions = []metav1.Time{daily.Spec.From} })
	w.handsOut(team, nothing)
	w.passAndWake(24 * time.Hour)
	w.handsOut(team, ofSim)
}

func connectionsOfTwo(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), connected("sim"), connected("sim-2"), accessTo("sim", consoleOfSim), accessTo("sim-2", "second"))
	second := booked(w, team, "second", -time.Minute, 2*time.Hour)
	second.Spec.TestBedNames = []string{"sim-2"}
	create(w.t, w.c, booked(w, team, "first", -time.Minute, time.Hour), second)
	ofSecond := map[string]string{"sim-2_console": "second", "sim-2_user": "admin"}
	w.handsOut(team, map[string]string{"sim_console": consoleOfSim, "sim_user": "admin", "sim-2_console": "second", "sim-2_user": "admin"})
	w.passAndWake(61 * time.Minute)
	w.handsOut(team, ofSecond)
	w.Expect(w.handedOut("team-other")).To(BeNil())
	// The owner of the lab takes the data back.
	bed := w.bed("sim-2")
	w.amend(bed, func() { bed.Spec.Connection = nil })
	w.handsOut(team, nothing)
	w.Eventually(func() string { return w.messageOf("second", v1alpha1.ConditionConnectionData) }).Should(BeEmpty())
}

func connectionsOccupied(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), connected("sim"), accessTo("sim", consoleOfSim), profile(), benchmark("running", "sim", limitedTo(2*time.Hour)))
	running := w.reaches("running", v1alpha1.PhaseRunning)
	create(w.t, w.c, booked(w, team, "now", 0, time.Hour))
	w.connectionMessage("now", "False BedNotHeld")
	w.Expect(w.reservation("now").Status.Phase).To(Equal(v1alpha1.ReservationActive))
	w.Expect(w.handedOut(team)).To(BeNil())
	w.runners.report(running, measured(row(64)))
	w.reaches("running", v1alpha1.PhaseMeasured)
	w.handsOut(team, ofSim)
}

func connectionsMissing(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), connected("sim"), booked(w, team, "now", 0, time.Hour))
	const why = "spec.connection.secretName: Secret sim-access is not in the lab's namespace nodrop-lab"
	w.connectionMessage("now", "False ConnectionUnreadable: bed sim: "+why)
	w.Eventually(func() *metav1.Condition {
		return meta.FindStatusCondition(w.bed("sim").Status.Conditions, v1alpha1.ConditionConnectionData)
	}).Should(And(HaveField("Reason", "ConnectionUnreadable"), HaveField("Message", HavePrefix(why))))
	w.Expect(meta.IsStatusConditionTrue(w.bed("sim").Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue())
	w.Expect(w.handedOut(team)).To(BeNil())
	long := accessTo("sim", string(make([]byte, 9000)))
	create(w.t, w.c, long)
	w.connectionMessage("now", "False ConnectionUnreadable: bed sim: spec.connection.secretName: Secret sim-access has 90")
	w.Expect(w.c.Update(w.t.Context(), accessTo("sim", consoleOfSim))).To(Succeed())
	w.handsOut(team, ofSim)
	w.Expect(w.c.Delete(w.t.Context(), accessTo("sim", ""))).To(Succeed())
	w.handsOut(team, nothing)
}

func connectionsOfTheLab(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), connected("sim"), accessTo("sim", consoleOfSim), booked(w, labNamespace, "repair", -time.Minute, time.Hour))
	w.handsOut(labNamespace, ofSim)
	w.Expect(w.handedOut(team)).To(BeNil())
	w.passAndWake(time.Hour)
	w.handsOut(labNamespace, nothing)
}

// A Secret that has the name, and cannot be changed, is replaced; one where no bed is held is
// deleted.
func connectionsOfAnother(w *world) {
	immutable := true
	create(w.t, w.c, configMap("model", "model.csv", table), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: v1alpha1.ConnectionSecretName}, Immutable: &immutable, StringData: map[string]string{"mine": "1"},
	}, connected("sim"), accessTo("sim", consoleOfSim), booked(w, team, "now", 0, time.Hour))
	w.handsOut(team, ofSim)
}

// What the owner of a bed names must be meant to be handed out.
func connectionsOfAnotherType(w *world) {
	other := accessTo("sim", consoleOfSim)
	other.Type = corev1.SecretTypeOpaque
	create(w.t, w.c, configMap("model", "model.csv", table), connected("sim"), other, booked(w, team, "now", 0, time.Hour))
	w.connectionMessage("now", "False ConnectionUnreadable: bed sim: spec.connection.secretName: Secret sim-access has type Opaque, and only Secrets of type nodrop.dev/connection are handed out: create it again with that type")
	w.Expect(w.handedOut(team)).To(BeNil())
}

func connectionsOff(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), connected("sim"), accessTo("sim", consoleOfSim), booked(w, team, "now", 0, time.Hour))
	w.connectionMessage("now", "False NotHandedOut: this lab hands no connection data out: ask its owner for them, or to set connections.enabled of the chart")
	w.Expect(w.reservation("now").Status.ConnectionSecretName).To(BeEmpty())
	w.Expect(w.handedOut(team)).To(BeNil())
	w.Eventually(func() *metav1.Condition {
		return meta.FindStatusCondition(w.bed("sim").Status.Conditions, v1alpha1.ConditionConnectionData)
	}).Should(HaveField("Reason", v1alpha1.ReasonNotHandedOut))
}

// The name in the rights bounds creation, too.
func connectionRights(w *world) {
	limited := newClient(w.t, w.server.operator)
	ctx := w.t.Context()
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "other"}, StringData: map[string]string{"a": "b"}}
	create(w.t, w.c, other)
	own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: v1alpha1.ConnectionSecretName}}
	apply := func(name string) error {
		return limited.Apply(ctx, corev1ac.Secret(name, team).WithData(map[string][]byte{"a": []byte("c")}), client.FieldOwner("test"), client.ForceOwnership)
	}
	for what, err := range map[string]error{
		"read a Secret of a team":           limited.Get(ctx, client.ObjectKeyFromObject(other), &corev1.Secret{}),
		"read its own Secret":               limited.Get(ctx, client.ObjectKeyFromObject(own), &corev1.Secret{}),
		"list Secrets of a team":            limited.List(ctx, &corev1.SecretList{}, client.InNamespace(team)),
		"delete a Secret of a team":         limited.Delete(ctx, other.DeepCopy()),
		"change a Secret of a team":         apply("other"),
		"make a Secret of another name":     apply("new"),
		"make a Secret without patch":       limited.Create(ctx, own.DeepCopy()),
		"read a Secret by changing nothing": limited.Patch(ctx, other.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte("{}"))),
		"delete all Secrets of a team":      limited.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(team)),
		"make a Secret of kube-system":      limited.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "x"}}),
	} {
		w.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "the operator may %s: %v", what, err)
	}
	w.Expect(apply(v1alpha1.ConnectionSecretName)).To(Succeed())
	w.Expect(limited.Delete(ctx, own)).To(Succeed())
}

// What ends while no operator is there is deleted by the next one.
func connectionsLate(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), connected("sim"), accessTo("sim", consoleOfSim), booked(w, team, "now", -time.Minute, time.Hour))
	w.handsOut(team, ofSim)
	w.stop()
	w.pass(2 * time.Hour)
	w.start()
	w.handsOut(team, nothing)
	create(w.t, w.c, booked(w, team, "again", -time.Minute, time.Hour))
	w.handsOut(team, ofSim)
	w.stop()
	// The garbage collector, which envtest does not have, deletes the Secret with its owner,
	// but not where the owner was deleted by --cascade=orphan.
	w.Expect(w.c.Delete(w.t.Context(), w.reservation("again"))).To(Succeed())
	w.Expect(w.c.Delete(w.t.Context(), w.reservation("now"))).To(Succeed())
	w.start()
	w.handsOut(team, nothing)
}

func connectionsWithoutGrant(w *world) {
	create(w.t, w.c, configMap("model", "model.csv", table), connected("sim"), accessTo("sim", consoleOfSim), booked(w, team, "now", -time.Minute, time.Hour))
	w.handsOut(team, ofSim)
	bed := w.bed("sim")
	w.amend(bed, func() { bed.Spec.Access = nil })
	w.handsOut(team, nothing)
}

// Of two reservations only the one that has the bed gets its data.
func connectionsOfTheFirst(w *world) {
	bed := connected("sim")
	bed.Spec.Access[0].Names = []string{team, "team-other"}
	create(w.t, w.c, configMap("model", "model.csv", table), bed, accessTo("sim", consoleOfSim), booked(w, "team-other", "later", -time.Minute, 2*time.Hour))
	w.handsOut("team-other", ofSim)
	// Namespaces decide between those of the same second: team-other comes before team-routing.
	create(w.t, w.c, booked(w, team, "second", -time.Minute, 3*time.Hour))
	w.connectionMessage("second", "False BedNotHeld")
	w.Expect(w.handedOut(team)).To(BeNil())
	w.passAndWake(2 * time.Hour)
	w.handsOut(team, ofSim)
	w.handsOut("team-other", nothing)
}
