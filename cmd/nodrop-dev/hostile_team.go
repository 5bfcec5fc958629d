package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"nodrop.dev/nodrop/internal/lab/hostileteam"
)

// Bounds of an attack.
const (
	maxHostileObjects = 100_000
	maxHostileWrites  = 10_000
	maxHostileTime    = time.Hour
)

// hostileFlags are the flags of the command.
type hostileFlags struct {
	team   hostileteam.Team
	length time.Duration
	caFile string
}

func newHostileTeamCommand() *cobra.Command {
	f := &hostileFlags{}
	cmd := &cobra.Command{
		Use:   "hostile-team",
		Short: "Attack your own lab with the rights of one team, and count what it accepts",
		Long: `Use every right of a team against a lab of your own: make objects of each kind at their
largest and above, change the metadata of benchmarks, ask for admission without making
anything, and open the lab page with unknown tokens. The command prints how many requests
of each kind were accepted, and why the others were refused.

The command uses the account of KUBECONFIG. Give one that has the ClusterRole nodrop-edit or edit in
one namespace, and nothing else. Objects stay when the command ends: delete the namespace.`,
		Example: `  nodrop-dev hostile-team --namespace team-hostile --bed frr --for 60s
  nodrop-dev hostile-team --namespace team-hostile --bed frr --page https://nodrop-page.nodrop-system.svc --page-ca-file ca.crt`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.team.Namespace, "namespace", "", "namespace of the hostile team (required)")
	flags.StringVar(&f.team.Bed, "bed", "", "TestBed that the team may use (required)")
	flags.IntVar(&f.team.Objects, "objects", 10_000, "number of objects of each kind that the team tries to make, 0 to 100000")
	flags.IntVar(&f.team.Writes, "writes", 500, "changes of metadata per second, 0 to 10000")
	flags.DurationVar(&f.length, "for", time.Minute, "time of the attack, 1s to 1h")
	flags.StringVar(&f.team.Receiver, "receiver", "https://hooks.example.com", "receiver of the team's notifications, an https:// URL without a path")
	flags.StringVar(&f.team.Page, "page", "", "URL of the lab page; without it the page is not opened")
	flags.StringVar(&f.team.PageName, "page-name", "", "name in the certificate of the lab page, if it differs from the host of the URL")
	flags.StringVar(&f.caFile, "page-ca-file", "", "file with the authority of the lab page's certificate; without it the system's authorities are used")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.complete(); err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		report, err := f.attack(ctx)
		if err != nil {
			return err
		}
		return report.Print(cmd.OutOrStdout())
	}
	return cmd
}

// complete checks the flags, and reads the authority of the lab page.
func (f *hostileFlags) complete() error {
	switch {
	case f.team.Namespace == "":
		return errors.New("--namespace is empty: give the namespace in which the account of KUBECONFIG is a team")
	case f.team.Bed == "":
		return errors.New("--bed is empty: give the name of a TestBed that the team may use")
	case f.team.Objects < 0 || f.team.Objects > maxHostileObjects:
		return fmt.Errorf("--objects is %d: give 0 to %d", f.team.Objects, maxHostileObjects)
	case f.team.Writes < 0 || f.team.Writes > maxHostileWrites:
		return fmt.Errorf("--writes is %d: give 0 to %d", f.team.Writes, maxHostileWrites)
	case f.length < time.Second || f.length > maxHostileTime:
		return fmt.Errorf("--for is %s: give 1s to 1h", f.length)
	}
	if f.caFile == "" {
		return nil
	}
	text, err := os.ReadFile(f.caFile)
	if err != nil {
		return fmt.Errorf("--page-ca-file: %w", err)
	}
	f.team.Roots = x509.NewCertPool()
	if !f.team.Roots.AppendCertsFromPEM(text) {
		return fmt.Errorf("--page-ca-file: %s has no certificate in PEM", f.caFile)
	}
	return nil
}

func (f *hostileFlags) attack(ctx context.Context) (hostileteam.Report, error) {
	rc, err := ctrl.GetConfig()
	if err != nil {
		return hostileteam.Report{}, fmt.Errorf("finding the cluster: %w: set KUBECONFIG", err)
	}
	f.team.Token = rc.BearerToken
	ctx, cancel := context.WithTimeout(ctx, f.length)
	defer cancel()
	return f.team.Run(ctx, rc)
}
