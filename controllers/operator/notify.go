package operator

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"

	"k8s.io/client-go/rest"

	"nodrop.dev/nodrop/internal/lab/notify"
)

// notifier sends notifications to the receivers that the lab allows, and never to the API
// server: rc is how that is reached, and may be nil.
func notifier(rc *rest.Config, c Config) (*notify.Sender, error) {
	guard := notify.Guard{Hosts: c.NotificationHosts}
	for _, text := range c.NotificationNetworks {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--notification-networks: %q is not a network: give one such as 10.1.0.0/16", text)
		}
		guard.Networks = append(guard.Networks, network.Masked())
	}
	hosts := []string{os.Getenv("KUBERNETES_SERVICE_HOST")}
	if rc != nil {
		hosts = append(hosts, hostOf(rc.Host))
	}
	for _, host := range hosts {
		if address, err := netip.ParseAddr(host); err == nil {
			guard.Refused = append(guard.Refused, address.Unmap())
		}
	}
	if c.NotificationCAFile == "" {
		return notify.NewSender(guard, nil), nil
	}
	text, err := os.ReadFile(c.NotificationCAFile)
	if err != nil {
		return nil, fmt.Errorf("--notification-ca-file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--notification-ca-file: %s has no certificate in PEM", c.NotificationCAFile)
	}
	return notify.NewSender(guard, roots), nil
}

// hostOf is the host of the address of an API server, which may be a URL.
func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Hostname()
	}
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
