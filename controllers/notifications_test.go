package controllers_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/notify"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// TestNotifications sends events to real HTTPS receivers.
func TestNotifications(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"signed and in order":                notifiedInOrder,
		"again until taken":                  notifiedAgain,
		"ended between decision and sending": notifiedAfterRestart,
		"ended while sending":                notifiedAfterDeathWhileSending,
		"a receiver that hangs":              notifiedDespiteOneThatHangs,
		"rotated secrets":                    notifiedWithRotatedSecrets,
		"not allowed":                        notNotified,
		"given up":                           givenUp,
		"before the benchmark is deleted":    notifiedBeforeDeletion,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// receiver is an HTTPS server that notes what it gets.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []delivery
	// answer replaces the status 200; attempt counts from 1.
	answer func(w http.ResponseWriter, attempt int)
}

type delivery struct {
	header http.Header
	body   []byte
}

func newReceiver(t *testing.T, answer func(w http.ResponseWriter, attempt int)) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		r.mu.Lock()
		r.got = append(r.got, delivery{request.Header, body})
		attempt := len(r.got)
		r.mu.Unlock()
		if r.answer != nil {
			r.answer(w, attempt)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) deliveries() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]delivery(nil), r.got...)
}

// ids are the identifiers of what came, without the UID.
func (r *receiver) events() []string {
	var all []string
	for _, d := range r.deliveries() {
		_, event, _ := strings.Cut(d.header.Get("webhook-id"), "/")
		all = append(all, event)
	}
	return all
}

// reach lets the operators that are started from now on send to receivers.
func reach(receivers ...*receiver) func(*kit.Options) {
	guard := notify.Guard{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	roots := x509.NewCertPool()
	for _, r := range receivers {
		guard.Hosts = append(guard.Hosts, strings.TrimPrefix(r.URL, "https://"))
		roots.AddCert(r.Certificate())
	}
	return func(o *kit.Options) { o.Notify = notify.NewSender(guard, roots) }
}

// restart replaces the operator by one with other options.
func (w *world) restart(change func(*kit.Options)) {
	w.t.Helper()
	w.stop()
	w.change = change
	w.start()
}

func webhookSecret(fill byte) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(fill), 32)))
}

// hook makes a sink with its Secret, which the operator may read.
func (w *world) hook(name, url string, events ...v1alpha1.NotificationEvent) *v1alpha1.NotificationSink {
	w.t.Helper()
	create(w.t, w.c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}, StringData: map[string]string{"secret": webhookSecret('a')}})
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "sign-" + name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{name}, Verbs: []string{"get"}}}}
	binding := &rbacv1.RoleBinding{ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: operatorNamespace, Name: "nodrop-operator"}}}
	kubetest.Grant(w.t, w.c, role, binding)
	w.t.Cleanup(func() {
		for _, o := range []client.Object{role, binding} {
			if err := w.c.Delete(context.Background(), o); err != nil {
				w.t.Error(err)
			}
		}
	})
	s := &v1alpha1.NotificationSink{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name}}
	s.Spec = v1alpha1.NotificationSinkSpec{URL: url, Events: events, SecretRef: v1alpha1.NotificationSecret{Name: name}}
	create(w.t, w.c, s)
	return s
}

// sinkIs waits until the condition Ready of a sink has a reason, and returns it.
func (w *world) sinkIs(name, reason string) *metav1.Condition {
	w.t.Helper()
	var c *metav1.Condition
	w.Eventually(func() string {
		if c = meta.FindStatusCondition(w.sink(name).Status.Conditions, v1alpha1.ConditionReady); c == nil {
			return ""
		}
		return c.Reason
	}).Should(Equal(reason))
	return c
}

func (w *world) sink(name string) *v1alpha1.NotificationSink {
	s := &v1alpha1.NotificationSink{}
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKey{Namespace: team, Name: name}, s)).To(Succeed())
	return s
}

// notified are the notifications of a benchmark as "sink event state".
func (w *world) notified(benchmark string) func() []string {
	return func() []string {
		var all []string
		for _, n := range w.benchmark(benchmark).Status.Notifications {
			all = append(all, n.Sink+" "+string(n.Event)+" "+string(n.State))
		}
		return all
	}
}

// fails ends a benchmark with a failed gate.
func (w *world) fails(name string, change ...func(*v1alpha1.Benchmark)) *v1alpha1.Benchmark {
	w.t.Helper()
	return w.ends(benchmark(name, "sim", append(change, gated(rateGate("fast", "1001")))...), v1alpha1.PhaseFailed, rate(64, 1000), rate(128, 2000))
}

func notifiedInOrder(w *world) {
	r := newReceiver(w.t, nil)
	w.restart(reach(r))
	w.modelledBed()
	w.hook("ci", r.URL+"/nodrop?channel=7", v1alpha1.NotifyGateFailed, v1alpha1.NotifyFinished)
	w.sinkIs("ci", v1alpha1.ReasonSinkReady)
	b := w.fails("nightly", func(b *v1alpha1.Benchmark) { b.Labels = map[string]string{"pipeline": "nightly"} })
	w.Eventually(w.notified("nightly")).Should(Equal([]string{"ci Finished Delivered", "ci GateFailed Delivered"}))
	w.Expect(r.events()).To(Equal([]string{"Finished", "GateFailed"}))
	hook, err := standardwebhooks.NewWebhook(webhookSecret('a'))
	w.Expect(err).NotTo(HaveOccurred())
	for _, d := range r.deliveries() {
		w.Expect(hook.Verify(d.body, d.header)).To(Succeed(), "the reference implementation of Standard Webhooks")
		w.Expect(d.header.Get("Content-Type")).To(HavePrefix("application/cloudevents+json"))
	}
	// The members that CloudEvents 1.0 demands, read without its library.
	d := r.deliveries()[1]
	var e map[string]any
	w.Expect(json.Unmarshal(d.body, &e)).To(Succeed())
	w.Expect(e).To(And(HaveKeyWithValue("specversion", "1.0"), HaveKeyWithValue("id", string(b.UID)+"/GateFailed"), HaveKeyWithValue("type", "dev.nodrop.benchmark.gatefailed.v1"),
		HaveKeyWithValue("source", "/apis/nodrop.dev/v1alpha1/namespaces/"+team+"/benchmarks/nightly"), HaveKeyWithValue("datacontenttype", "application/json")))
	w.Expect(d.header.Get("webhook-id")).To(Equal(e["id"]))
	data := e["data"].(map[string]any)
	w.Expect(data).To(And(HaveKeyWithValue("phase", "Failed"), HaveKeyWithValue("labels", map[string]any{"pipeline": "nightly"}), HaveKeyWithValue("testBed", "sim")))
	w.Expect(data["gates"].([]any)[0]).To(And(HaveKeyWithValue("name", "fast"), HaveKeyWithValue("verdict", "Failed")))
	w.Eventually(func() *v1alpha1.NotificationDelivery { return w.sink("ci").Status.LastDelivery }).Should(And(HaveField("Event", v1alpha1.NotifyGateFailed), HaveField("State", v1alpha1.NotificationDelivered)))
	for _, o := range []any{w.sink("ci"), w.benchmark("nightly")} {
		text, err := json.Marshal(o)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(string(text)).NotTo(ContainSubstring("whsec_"))
	}
	w.Eventually(func() []string {
		var said []string
		var events corev1.EventList
		w.Expect(w.c.List(w.t.Context(), &events, client.InNamespace(team))).To(Succeed())
		for _, e := range events.Items {
			if e.InvolvedObject.Kind == "NotificationSink" {
				said = append(said, e.Reason+" "+e.Message)
			}
		}
		return said
	}).Should(ContainElement("NotificationDelivered GateFailed of benchmark nightly: the receiver took it at attempt 1"))
	// A benchmark that passes has no event of a gate.
	w.ends(benchmark("fine", "sim", gated(rateGate("fast", "1"))), v1alpha1.PhasePassed, rate(64, 1000), rate(128, 2000))
	w.Eventually(w.notified("fine")).Should(Equal([]string{"ci Finished Delivered"}))
}

func notifiedAgain(w *world) {
	r := newReceiver(w.t, func(w http.ResponseWriter, attempt int) {
		if attempt < 3 {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "the answer is shown nowhere", http.StatusServiceUnavailable)
		}
	})
	w.restart(reach(r))
	w.modelledBed()
	w.hook("ci", r.URL, v1alpha1.NotifyFinished, v1alpha1.NotifyGateFailed)
	w.fails("nightly")
	w.Eventually(func() string {
		if n := w.benchmark("nightly").Status.Notifications; len(n) > 0 {
			return n[0].Message
		}
		return ""
	}).Should(Equal("the receiver answered 503"))
	w.Eventually(w.notified("nightly")).Should(Equal([]string{"ci Finished Delivered", "ci GateFailed Delivered"}))
	w.Expect(r.events()).To(Equal([]string{"Finished", "Finished", "Finished", "GateFailed"}), "what is behind waits for what is before it")
	w.Expect(w.benchmark("nightly").Status.Notifications[0].Attempts).To(Equal(int32(3)))
	all := r.deliveries()
	w.Expect(all[0].header.Get("webhook-id")).To(Equal(all[2].header.Get("webhook-id")))
}

// notifiedAfterRestart ends the operator when the decision is stored, and nothing was sent.
func notifiedAfterRestart(w *world) {
	r := newReceiver(w.t, nil)
	w.modelledBed()
	w.hook("ci", r.URL, v1alpha1.NotifyFinished)
	w.sinkIs("ci", v1alpha1.ReasonHostNotAllowed)
	w.fails("nightly")
	w.Eventually(w.notified("nightly")).Should(Equal([]string{"ci Finished Pending"}))
	w.stop()
	w.Expect(r.deliveries()).To(BeEmpty())
	w.pass(time.Minute)
	w.change = reach(r)
	w.start()
	w.Eventually(w.notified("nightly")).Should(Equal([]string{"ci Finished Delivered"}))
	w.Expect(r.events()).To(Equal([]string{"Finished"}))
	// One more operator sends nothing more.
	w.restart(reach(r))
	w.ends(benchmark("next", "sim"), v1alpha1.PhaseMeasured, rate(64, 1000), rate(128, 2000))
	w.Eventually(w.notified("next")).Should(Equal([]string{"ci Finished Delivered"}))
	w.Expect(r.events()).To(Equal([]string{"Finished", "Finished"}))
}

// notifiedAfterDeathWhileSending ends the operator while the receiver has the event, and the
// answer is not stored.
func notifiedAfterDeathWhileSending(w *world) {
	has, answered := make(chan struct{}), make(chan struct{})
	r := newReceiver(w.t, func(_ http.ResponseWriter, attempt int) {
		if attempt == 1 {
			close(has)
			<-answered
		}
	})
	w.restart(reach(r))
	w.modelledBed()
	w.hook("ci", r.URL, v1alpha1.NotifyFinished)
	w.fails("nightly")
	<-has
	w.stop()
	close(answered)
	w.Expect(w.notified("nightly")()).To(Equal([]string{"ci Finished Pending"}))
	w.start()
	w.Eventually(w.notified("nightly")).Should(Equal([]string{"ci Finished Delivered"}))
	all := r.deliveries()
	w.Expect(all).To(HaveLen(2))
	w.Expect(all[0].header.Get("webhook-id")).To(Equal(all[1].header.Get("webhook-id")), "by which the receiver knows it again")
}

// notifiedDespiteOneThatHangs keeps a receiver from answering for as long as the case takes.
func notifiedDespiteOneThatHangs(w *world) {
	end := make(chan struct{})
	slow, quick := newReceiver(w.t, func(http.ResponseWriter, int) { <-end }), newReceiver(w.t, nil)
	w.t.Cleanup(func() { close(end) })
	w.restart(reach(slow, quick))
	w.modelledBed()
	w.hook("slow", slow.URL, v1alpha1.NotifyFinished)
	w.hook("quick", quick.URL, v1alpha1.NotifyFinished)
	for _, name := range []string{"one", "two", "three"} {
		w.ends(benchmark(name, "sim"), v1alpha1.PhaseMeasured, rate(64, 1000), rate(128, 2000))
	}
	for _, name := range []string{"one", "two", "three"} {
		w.Eventually(w.notified(name)).Should(ContainElement("quick Finished Delivered"))
	}
	w.Expect(w.notified("three")()).To(ContainElement("slow Finished Pending"))
	w.Expect(len(slow.deliveries())).To(BeNumerically("<=", 2), "one attempt at a time, and pauses between them")
}

func notifiedWithRotatedSecrets(w *world) {
	r := newReceiver(w.t, nil)
	w.restart(reach(r))
	w.modelledBed()
	w.hook("ci", r.URL, v1alpha1.NotifyFinished)
	set := func(value string) {
		w.Expect(w.c.Update(w.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "ci"}, StringData: map[string]string{"secret": value}})).To(Succeed())
	}
	check := func(name string, good, bad []byte) {
		w.t.Helper()
		w.ends(benchmark(name, "sim"), v1alpha1.PhaseMeasured, rate(64, 1000), rate(128, 2000))
		w.Eventually(w.notified(name)).Should(Equal([]string{"ci Finished Delivered"}))
		all := r.deliveries()
		last := all[len(all)-1]
		for keys, verifies := range map[string]bool{string(good): true, string(bad): false} {
			for _, k := range []byte(keys) {
				hook, err := standardwebhooks.NewWebhook(webhookSecret(k))
				w.Expect(err).NotTo(HaveOccurred())
				w.Expect(hook.Verify(last.body, last.header) == nil).To(Equal(verifies), "key %c", k)
			}
		}
	}
	check("before", []byte("a"), []byte("b"))
	set(webhookSecret('b') + " " + webhookSecret('a'))
	check("meanwhile", []byte("ab"), nil)
	set(webhookSecret('b'))
	check("after", []byte("b"), []byte("a"))
}

// notNotified asks for what the lab, or the team, does not allow.
func notNotified(w *world) {
	r, other := newReceiver(w.t, nil), newReceiver(w.t, nil)
	w.restart(reach(r))
	w.modelledBed()
	w.hook("elsewhere", other.URL, v1alpha1.NotifyFinished)
	c := w.sinkIs("elsewhere", v1alpha1.ReasonHostNotAllowed)
	w.Expect(c.Message).To(And(ContainSubstring(strings.TrimPrefix(other.URL, "https://")), ContainSubstring("ask its owner to add it to notifications.allowedHosts")))
	w.Expect(meta.IsStatusConditionTrue(w.sink("elsewhere").Status.Conditions, v1alpha1.ConditionStalled)).To(BeTrue())

	// A Secret of the namespace that the operator may not read.
	create(w.t, w.c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "private"}, StringData: map[string]string{"secret": webhookSecret('p')}})
	s := &v1alpha1.NotificationSink{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "nosy"}}
	s.Spec = v1alpha1.NotificationSinkSpec{URL: r.URL, SecretRef: v1alpha1.NotificationSecret{Name: "private"}}
	create(w.t, w.c, s)
	w.Expect(w.sinkIs("nosy", v1alpha1.ReasonSecretUnreadable).Message).To(ContainSubstring("may not read Secret private"))

	w.hook("weak", r.URL, v1alpha1.NotifyFinished)
	w.Expect(w.c.Update(w.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "weak"}, StringData: map[string]string{"secret": "hunter2"}})).To(Succeed())
	w.ends(benchmark("nightly", "sim"), v1alpha1.PhaseMeasured, rate(64, 1000), rate(128, 2000))
	w.Eventually(w.notified("nightly")).Should(ConsistOf("elsewhere Finished Pending", "nosy Finished Pending", "weak Finished Pending"))
	w.Eventually(func() []string {
		var all []string
		for _, n := range w.benchmark("nightly").Status.Notifications {
			all = append(all, n.Message)
		}
		return all
	}).Should(ConsistOf(ContainSubstring("does not allow"), ContainSubstring("may not read"), And(ContainSubstring("is not whsec_"), Not(ContainSubstring("hunter2")))))
	w.Expect(other.deliveries()).To(BeEmpty())
	w.Expect(r.deliveries()).To(BeEmpty())
	for url, want := range map[string]string{"http://hooks.example.com": "https://", "https://me:pw@hooks.example.com/": "has a user", "https://hooks.example.com/#x": "has a fragment", "hooks": "https://"} {
		bad := s.DeepCopy()
		bad.ObjectMeta = metav1.ObjectMeta{Namespace: team, Name: "bad"}
		bad.Spec.URL = url
		w.Expect(w.c.Create(w.t.Context(), bad)).To(MatchError(ContainSubstring(want)), url)
	}
}

// givenUp ends the attempts when the time for them is over, and at once when the receiver
// says that it wants no more.
func givenUp(w *world) {
	gone := newReceiver(w.t, func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusGone) })
	broken := newReceiver(w.t, func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusInternalServerError) })
	w.restart(reach(gone, broken))
	w.modelledBed()
	w.hook("gone", gone.URL, v1alpha1.NotifyFinished)
	w.hook("broken", broken.URL, v1alpha1.NotifyFinished)
	w.fails("nightly")
	w.Eventually(w.notified("nightly")).Should(ConsistOf("broken Finished Pending", "gone Finished Failed"))
	w.Eventually(func() []v1alpha1.Notification { return w.benchmark("nightly").Status.Notifications }).Should(
		ContainElement(And(HaveField("Sink", "broken"), HaveField("Message", "the receiver answered 500"))), "the first attempt")
	w.pass(2 * time.Hour)
	w.Eventually(w.notified("nightly")).Should(ConsistOf("broken Finished Failed", "gone Finished Failed"))
	w.Eventually(func() *v1alpha1.NotificationDelivery { return w.sink("broken").Status.LastDelivery }).Should(
		And(HaveField("State", v1alpha1.NotificationFailed), HaveField("Message", "it was not taken within 1h0m0s: the receiver answered 500")))
	w.Expect(gone.deliveries()).To(HaveLen(1))
}

// notifiedBeforeDeletion lets a time to live of 0 wait for the receiver.
func notifiedBeforeDeletion(w *world) {
	r := newReceiver(w.t, func(w http.ResponseWriter, attempt int) {
		if attempt == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	w.restart(reach(r))
	w.modelledBed()
	w.hook("ci", r.URL, v1alpha1.NotifyFinished)
	b := benchmark("brief", "sim", func(b *v1alpha1.Benchmark) { b.Spec.TTLSecondsAfterFinished = new(int32) })
	create(w.t, w.c, b)
	w.runners.report(w.reaches("brief", v1alpha1.PhaseRunning), measured(rate(64, 1000), rate(128, 2000)))
	w.vanishes(b)
	w.Expect(r.events()).To(Equal([]string{"Finished", "Finished"}))
}
