package notify

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
)

// TestRemedies does what the messages about refused receivers ask for.
func TestRemedies(t *testing.T) {
	added := regexp.MustCompile(`notifications to (\S+): ask its owner to add it to notifications\.allowedHosts of the chart`)
	for url, port := range map[string]string{
		"https://hooks.example.com/nodrop":         "",
		"https://Hooks.Example.com.:443/nodrop":    "",
		"https://hooks.example.com:8443/nodrop":    "8443",
		"https://192.0.2.1:8443/nodrop":            "8443",
		"https://[2001:db8::1]/nodrop":             "",
		"https://[2001:DB8:0:0::1]:8443/nodrop":    "8443",
		"https://[2001:db8::1]:443/nodrop?x=[::1]": "",
	} {
		err := Guard{}.Host(url)
		if err == nil {
			t.Errorf("%s: allowed without hosts", url)
			continue
		}
		m := added.FindStringSubmatch(err.Error())
		if m == nil {
			t.Errorf("%s: no host to add in %q", url, err)
			continue
		}
		if err := (Guard{Hosts: []string{m[1]}}).Host(url); err != nil {
			t.Errorf("%s with allowedHosts %s: %v", url, m[1], err)
		}
		if open := "and port " + port + " to networkPolicy.operatorEgress"; strings.Contains(err.Error(), "networkPolicy") != (port != "") || port != "" && !strings.Contains(err.Error(), open) {
			t.Errorf("%s: %q", url, err)
		}
	}
	for url, host := range map[string]string{
		"https://[2001:db8::1]/":      "[2001:db8::2]",
		"https://[2001:db8::1]:8443/": "[2001:db8::1]",
		"https://[2001:db8::1]":       "*.example.com",
	} {
		if err := (Guard{Hosts: []string{host}}).Host(url); err == nil {
			t.Errorf("%s is allowed by %s", url, host)
		}
	}
}

// TestRemedyOfAnAddress sends to an address that is refused by default, after the owner has done
// what the message asks for.
func TestRemedyOfAnAddress(t *testing.T) {
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer receiver.Close()
	roots := receiver.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	hosts := []string{strings.TrimPrefix(receiver.URL, "https://")}
	keys, err := ReadKeys([]byte(oldSecret))
	if err != nil {
		t.Fatal(err)
	}
	const remedy = "to add the address with its prefix length, as 192.0.2.1/32, to notifications.allowedNetworks of the chart"
	err = NewSender(Guard{Hosts: hosts}, roots).Send(t.Context(), receiver.URL, "id", keys, nil, noon)
	if err == nil || !strings.Contains(err.Error(), remedy) {
		t.Errorf("%v, want %q", err, remedy)
	}
	allowed := Guard{Hosts: hosts, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	if err := NewSender(allowed, roots).Send(t.Context(), receiver.URL, "id", keys, nil, noon); err != nil {
		t.Errorf("with the network: %v", err)
	}
}
