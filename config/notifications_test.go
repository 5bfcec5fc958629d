package config

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestNotifications checks which receivers the operator may send to, by the values of the chart.
func TestNotifications(t *testing.T) {
	for name, tc := range map[string]struct {
		values          []string
		hosts, networks string
		authority       string
	}{
		"none by default": {},
		"some hosts": {
			values: []string{"--set", "notifications.allowedHosts={hooks.example.com,*.chat.example.com,ci.example.com:8443}"},
			hosts:  "--notification-hosts=hooks.example.com,*.chat.example.com,ci.example.com:8443",
		},
		"IPv6 addresses": {
			values: []string{"--set-json", `notifications.allowedHosts=["[2001:db8::1]","[2001:db8::1]:8443"]`},
			hosts:  "--notification-hosts=[2001:db8::1],[2001:db8::1]:8443",
		},
		"a network and an authority of one's own": {
			values:   []string{"--set", "notifications.allowedHosts={192.0.2.1},notifications.allowedNetworks={127.0.0.0/8,::1/128},notifications.caConfigMap=our-ca"},
			hosts:    "--notification-hosts=192.0.2.1",
			networks: "--notification-networks=127.0.0.0/8,::1/128", authority: "--notification-ca-file=/etc/nodrop/notifications/ca.crt",
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := chart(t, tc.values...)
			if err != nil {
				t.Fatal(err)
			}
			containers, _, _ := unstructured.NestedSlice(find(t, objects, "Deployment", "nodrop-operator").Object, "spec", "template", "spec", "containers")
			args := containers[0].(map[string]any)["args"].([]any)
			for flag, want := range map[string]string{"--notification-hosts=": tc.hosts, "--notification-networks=": tc.networks, "--notification-ca-file=": tc.authority} {
				if got := argument(args, flag); got != want {
					t.Errorf("the argument is %q, want %q", got, want)
				}
			}
		})
	}
	for _, value := range []string{"allowedHosts={https://hooks.example.com}", "allowedHosts={hooks.example.com/x}", "allowedHosts={*}", "allowedNetworks={10.0.0.1}"} {
		if _, err := chart(t, "--set", "notifications."+value); err == nil {
			t.Errorf("%s is accepted", value)
		}
	}
}
