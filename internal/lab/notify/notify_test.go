package notify

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

const (
	oldSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestHosts(t *testing.T) {
	g := Guard{Hosts: []string{"hooks.example.com", "*.chat.example.com", "ci.example.com:8443", "192.0.2.7"}}
	for url, allowed := range map[string]bool{
		"https://hooks.example.com/x":         true,
		"https://HOOKS.example.com./x":        true,
		"https://hooks.example.com:443/x":     true,
		"https://hooks.example.com:8443/x":    false,
		"https://ci.example.com:8443":         true,
		"https://ci.example.com":              false,
		"https://a.chat.example.com":          true,
		"https://chat.example.com":            false,
		"https://evilchat.example.com":        false,
		"https://hooks.example.com.evil.test": false,
		"https://192.0.2.7/":                  true,
		"https://192.0.2.8/":                  false,
		"http://hooks.example.com/x":          false,
		"https://user@hooks.example.com/x":    false,
		"https:///x":                          false,
		"file:///etc/passwd":                  false,
	} {
		if got := g.Host(url) == nil; got != allowed {
			t.Errorf("%s: %v, want %v", url, got, allowed)
		}
	}
	if err := (Guard{}).Host("https://hooks.example.com"); err == nil || !strings.Contains(err.Error(), "hooks.example.com: ask its owner to add it to notifications.allowedHosts") {
		t.Errorf("what to ask for is not said: %v", err)
	}
}

func TestAddresses(t *testing.T) {
	g := Guard{Refused: []netip.Addr{netip.MustParseAddr("10.96.0.1")}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.8/32")}}
	for address, allowed := range map[string]bool{
		"203.0.113.5": true, "10.1.2.3": true, "2001:db8::1": true, "127.0.0.8": true, "::ffff:127.0.0.8": true,
		"127.0.0.1": false, "::1": false, "::ffff:127.0.0.1": false, "169.254.169.254": false, "fe80::1": false, "fd00:ec2::254": false,
		"100.100.100.200": false, "0.0.0.0": false, "0.1.2.3": false, "::": false, "224.0.0.1": false, "ff02::1": false, "255.255.255.255": false,
		"10.96.0.1": false, "::ffff:10.96.0.1": false, "64:ff9b::169.254.169.254": false, "64:ff9b::7f00:1": false, "64:ff9b::203.0.113.5": true,
	} {
		if got := g.address(netip.MustParseAddr(address)); got != allowed {
			t.Errorf("%s: %v, want %v", address, got, allowed)
		}
	}
}

func TestKeys(t *testing.T) {
	for value, want := range map[string]string{
		"":                               "is empty",
		"hunter2hunter2":                 "is not whsec_",
		"whsec_!!!":                      "is not whsec_",
		"whsec_aHVudGVyMg==":             "has 7 bytes",
		strings.Repeat(oldSecret+" ", 5): "at most 4",
	} {
		_, err := ReadKeys([]byte(value))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", value, err, want)
		}
		if err != nil && value != "" && strings.Contains(err.Error(), strings.TrimPrefix(value, "whsec_")) {
			t.Errorf("the error shows the value: %v", err)
		}
	}
	keys, err := ReadKeys([]byte(newSecret + "\n" + oldSecret + "\n"))
	if err != nil || len(keys) != 2 {
		t.Fatal(len(keys), err)
	}
	if text := fmt.Sprintf("%v %+v %s", keys, keys[0], keys); strings.Contains(text, "whsec") || strings.Contains(text, "[49 ") {
		t.Errorf("a key shows itself: %s", text)
	}
	now := time.Now()
	for _, secret := range []string{oldSecret, newSecret} {
		if err := verify(t, secret, "id", now, signature(keys, "id", now, []byte("body")), "body"); err != nil {
			t.Errorf("the reference implementation refuses the signature: %v", err)
		}
	}
	if verify(t, oldSecret, "id", now, signature(keys[:1], "id", now, []byte("body")), "body") == nil {
		t.Error("a signature with the other key is taken")
	}
}

// verify checks a signature with the reference implementation of Standard Webhooks.
func verify(t *testing.T, secret, id string, at time.Time, signature, body string) error {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return hook.Verify([]byte(body), http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {fmt.Sprint(at.Unix())}, "Webhook-Signature": {signature}})
}

func TestPauses(t *testing.T) {
	last := time.Duration(0)
	for attempts := int32(1); attempts < 40; attempts++ {
		pause := Pause(attempts, "some/Finished")
		if pause < last || pause > LongestPause || pause < firstPause*3/4 {
			t.Errorf("after %d attempts: %s, before %s", attempts, pause, last)
		}
		last = pause
	}
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "99999999999999": 0,
		noon.Add(time.Minute).Format(http.TimeFormat): time.Minute, noon.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		if got := retryAfter(value, noon); got != want {
			t.Errorf("Retry-After %q: %s, want %s", value, got, want)
		}
	}
}

// TestSendRefuses sends to servers that may not be reached, or that answer with something else.
func TestSendRefuses(t *testing.T) {
	reached := false
	target := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer target.Close()
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, target.URL, http.StatusTemporaryRedirect)
		case "/secret":
			http.Error(w, "the answer of an inner service", http.StatusForbidden)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		}
	}))
	defer receiver.Close()
	roots := receiver.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	host := strings.TrimPrefix(receiver.URL, "https://")
	keys, err := ReadKeys([]byte(oldSecret))
	if err != nil {
		t.Fatal(err)
	}
	local := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	open := NewSender(Guard{Hosts: []string{host}, Networks: local}, roots)
	for name, tc := range map[string]struct {
		sender *Sender
		url    string
		want   string
	}{
		"loopback":     {NewSender(Guard{Hosts: []string{host}}, roots), receiver.URL, "address that the lab does not allow"},
		"redirect":     {open, receiver.URL + "/redirect", "answered 307, and redirects are not followed"},
		"what it says": {open, receiver.URL + "/secret", "the receiver answered 403"},
		"authority":    {NewSender(Guard{Hosts: []string{host}, Networks: local}, nil), receiver.URL, "certificate of the receiver cannot be verified"},
		"gone":         {open, receiver.URL + "/gone", "wants no more events"},
		"nobody":       {NewSender(Guard{Hosts: []string{"127.0.0.1:1"}, Networks: local}, roots), "https://127.0.0.1:1", "cannot be reached"},
		"no name":      {NewSender(Guard{Hosts: []string{"nobody.invalid"}, Networks: local}, roots), "https://nobody.invalid", "cannot be resolved"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.sender.Send(t.Context(), tc.url, "id", keys, []byte("{}"), noon)
			var refused *RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "inner service") || strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if refused != nil && refused.Final != (name == "gone") {
				t.Errorf("final: %v", refused.Final)
			}
		})
	}
	if err := open.Send(t.Context(), target.URL, "id", keys, nil, noon); err == nil || reached {
		t.Errorf("another port was reached: %v", err)
	}
}

func TestDue(t *testing.T) {
	sink := func(name string, change ...func(*v1alpha1.NotificationSink)) v1alpha1.NotificationSink {
		s := v1alpha1.NotificationSink{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}}
		s.Spec.Events, s.Spec.RetrySeconds = []v1alpha1.NotificationEvent{v1alpha1.NotifyGateFailed, v1alpha1.NotifyFinished}, 3600
		for _, c := range change {
			c(&s)
		}
		return s
	}
	failed := func(change ...func(*v1alpha1.Benchmark)) *v1alpha1.Benchmark {
		b := objects.Benchmark("", "b", objects.Labels(map[string]string{"a": "b"}))
		b.Status.Phase = v1alpha1.PhaseFailed
		b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionGatesPassed, Status: metav1.ConditionFalse}}
		for _, c := range change {
			c(b)
		}
		return b
	}
	selects := func(value string) func(*v1alpha1.NotificationSink) {
		return func(s *v1alpha1.NotificationSink) {
			s.Spec.BenchmarkSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": value}}
		}
	}
	for name, tc := range map[string]struct {
		b    *v1alpha1.Benchmark
		s    v1alpha1.NotificationSink
		now  time.Time
		want string
	}{
		"both, in order": {failed(), sink("s"), noon, "Finished GateFailed"},
		"running":        {failed(func(b *v1alpha1.Benchmark) { b.Status.Phase = v1alpha1.PhaseRunning }), sink("s"), noon, ""},
		"sent before": {failed(func(b *v1alpha1.Benchmark) {
			b.Status.Notifications = []v1alpha1.Notification{{Sink: "s", Event: v1alpha1.NotifyFinished}}
		}), sink("s"), noon, "GateFailed"},
		"selected":        {failed(), sink("s", selects("b")), noon, "Finished GateFailed"},
		"not selected":    {failed(), sink("s", selects("c")), noon, ""},
		"suspended":       {failed(), sink("s", func(s *v1alpha1.NotificationSink) { s.Spec.Suspend = true }), noon, ""},
		"made afterwards": {failed(), sink("s", func(s *v1alpha1.NotificationSink) { s.CreationTimestamp = metav1.NewTime(noon.Add(time.Second)) }), noon, ""},
		"too long ago":    {failed(), sink("s"), noon.Add(time.Hour), ""},
		"in time":         {failed(), sink("s"), noon.Add(time.Hour - time.Second), "Finished GateFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, n := range Due(tc.b, noon, []v1alpha1.NotificationSink{tc.s}, tc.now) {
				got = append(got, string(n.Event))
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("%v, want %s", got, tc.want)
			}
		})
	}
	many := make([]v1alpha1.NotificationSink, 20)
	for i := range many {
		many[i] = sink(fmt.Sprint("s", i))
	}
	if due := Due(failed(), noon, many, noon); len(due) != 2*MaxSinks {
		t.Errorf("%d events, want those of %d sinks", len(due), MaxSinks)
	}
	full := failed()
	for i := range maxNotifications - 1 {
		full.Status.Notifications = append(full.Status.Notifications, v1alpha1.Notification{Sink: fmt.Sprint("deleted-", i), Event: v1alpha1.NotifyFinished})
	}
	if due := Due(full, noon, many, noon); len(due) != 1 {
		t.Errorf("%d events, and the status has room for one", len(due))
	}
}
