package operator

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"nodrop.dev/nodrop/controllers/allocation"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/lab/labpage"
	"nodrop.dev/nodrop/internal/lab/webhookcert"
	"nodrop.dev/nodrop/internal/reporting/apart"
	"nodrop.dev/nodrop/internal/reporting/archive"
)

// PageService is the Service of the lab page, as the chart has it. The certificate of the
// webhooks has its name too.
const PageService = "nodrop-page"

// servesPage reports whether the operator serves the lab page.
func (c Config) servesPage() bool { return c.PageAddress != "" && c.PageAddress != "0" }

// addPage serves the lab page on every replica, with a certificate of its own or that of the
// webhooks. The client has no limit of its own, as that of the manager.
func addPage(mgr ctrl.Manager, rc *rest.Config, c Config, keeper *webhookcert.Keeper) error {
	access, err := labpage.Delegated(rc, mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	log := mgr.GetLogger().WithName("lab-page")
	options := labpage.Options{
		Reader: mgr.GetCache(), Results: mgr.GetAPIReader(), Access: access, LabNamespace: c.Lab.Namespace, GrafanaResults: c.GrafanaResults, Now: time.Now, Log: log,
		Waiting: allocation.WaitingFrom(mgr.GetCache(), allocation.LineupInput{DefaultPolicy: c.DefaultPolicy, Deadlines: c.Deadlines}, time.Now),
	}
	if len(c.LargeResults) > 0 {
		options.Apart = apart.NewProcess(c.LargeResults...)
	}
	if c.ArchiveURL != "" {
		store, err := archive.Open(c.ArchiveURL)
		if err != nil {
			return fmt.Errorf("--archive-url: %w", err)
		}
		if options.Apart != nil {
			store.Whole = apart.Figures(options.Apart, store.URL())
		}
		options.Archive, options.ArchiveURL = store, store.URL()
	}
	server := &labpage.Server{Page: labpage.New(options), Address: c.PageAddress, Caches: mgr.GetCache(), Log: log}
	if dir := cmp.Or(c.PageCertDir, c.WebhookCertDir); dir != "" {
		watcher, err := certwatcher.New(filepath.Join(dir, pki.CertFile), filepath.Join(dir, pki.KeyFile))
		if err != nil {
			return fmt.Errorf("reading the certificate of the lab page: %w", err)
		}
		if err := mgr.Add(watcher); err != nil {
			return fmt.Errorf("adding the certificate of the lab page: %w", err)
		}
		server.Certificate = watcher.GetCertificate
	} else {
		server.Certificate = keeper.GetCertificate
	}
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("adding the lab page: %w", err)
	}
	return nil
}
