//go:build !standalone

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/cmd/nodrop/cluster"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/lab/doctor"
	"nodrop.dev/nodrop/internal/lab/doctor/look"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

func newDoctorCommand() *cobra.Command {
	var out terminal.Output
	var ask look.Ask
	var engines []string
	var namespace, lab string
	var withProbe bool
	probe := look.Probe{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what a cluster, or a bed of it, lacks for each traffic engine",
		Long: `Look at a cluster, or with --bed at what one bed needs of it, and say for each
traffic engine what is there, what is missing, and what to do about it.

It looks with your own rights, and names the missing ones. What only a node
itself knows (IOMMU, kernel, network cards) is looked at with --probe, by a pod
without privilege on each node, which is removed again.

Without --bed and --node, an engine is ready when one node has all that it needs.

With --engine machine it looks at this computer, without a cluster: at what nodrop run
needs for a device that is an emulated machine.

Exit codes: 0 everything is there, 2 something is missing, 3 nothing is known to
be missing but not everything could be seen, 1 it could not be looked at all.`,
		Example: `  kubectl nodrop doctor --probe
  kubectl nodrop doctor --bed access-switch --probe
  kubectl nodrop doctor --engine xdp --node worker-1 --probe -o json
  nodrop doctor --engine machine`,
		Args: cobra.NoArgs,
	}
	k := cluster.NewClient(cmd)
	out.AddFlags(cmd, terminal.ObjectFormats())
	flags := cmd.Flags()
	flags.Lookup("output").Usage = out.Names()
	flags.StringVar(&ask.Bed, "bed", "", "look at what this TestBed needs")
	flags.StringSliceVar(&engines, "engine", nil, "look at this engine only, may be repeated: "+engineNames(doctor.Engines)+"; or at this computer for machine")
	flags.StringSliceVar(&ask.Nodes, "node", nil, "look at this node only, may be repeated")
	flags.StringVar(&namespace, "operator-namespace", "nodrop-system", "namespace of the operator")
	flags.StringVar(&lab, "lab-namespace", "nodrop-lab", "namespace of the lab")
	flags.BoolVar(&withProbe, "probe", false, "let a pod without privilege look at each node from within")
	flags.StringVar(&probe.Image, "probe-image", "", "image with nodrop for these pods (default: the operator's)")
	flags.DurationVar(&probe.Timeout, "probe-timeout", time.Minute, "how long such a pod may take to start and end")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.Check(); err != nil {
			return err
		}
		if withProbe {
			if probe.Timeout <= 0 {
				return fmt.Errorf("--probe-timeout is %s: give a time above 0, such as 1m", probe.Timeout)
			}
			ask.Probe = &probe
		}
		if slices.Contains(engines, string(doctor.Machine)) {
			if len(engines) > 1 || ask.Bed != "" || len(ask.Nodes) > 0 || withProbe {
				return errors.New("--engine machine looks at this computer, and not at a cluster: leave out other engines, --bed, --node and --probe")
			}
			result, err := examineMachines()
			if err != nil {
				return err
			}
			return concludeDiagnosis(cmd, &out, result)
		}
		for _, name := range engines {
			if !slices.Contains(doctor.Engines, doctor.Engine(name)) {
				return fmt.Errorf("--engine %q is not an engine: give %s", name, engineNames(append(slices.Clone(doctor.Engines), doctor.Machine)))
			}
			ask.Engines = append(ask.Engines, doctor.Engine(name))
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		result, err := examine(ctx, k, namespace, lab, ask)
		if err != nil {
			return err
		}
		return concludeDiagnosis(cmd, &out, result)
	}
	return cmd
}

// concludeDiagnosis writes a report, and returns the exit code that it leads to.
func concludeDiagnosis(cmd *cobra.Command, out *terminal.Output, result doctor.Report) error {
	if err := out.Write(cmd.OutOrStdout(), diagnosis(result)); err != nil {
		return err
	}
	switch result.State() {
	case doctor.Lacking:
		return &exit.Coded{Code: exit.Failed}
	case doctor.NotKnown:
		return &exit.Coded{Code: exit.Invalid}
	}
	return nil
}

// examine gathers the facts and judges them.
func examine(ctx context.Context, k *cluster.Client, namespace, lab string, ask look.Ask) (doctor.Report, error) {
	config, objects, err := k.Reach()
	if err != nil {
		return doctor.Report{}, err
	}
	looked, err := look.New(config, objects, namespace, lab)
	if err != nil {
		return doctor.Report{}, err
	}
	facts, err := looked.Facts(ctx, ask)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return doctor.Report{}, errors.New("looking at the cluster was interrupted")
	case hint.Of(err) != "":
		return doctor.Report{}, err
	default:
		return doctor.Report{}, cluster.Unreachable(err)
	}
	engines := doctor.Engines
	if facts.Bed != nil {
		engines = doctor.EnginesOf(facts.Bed)
	}
	if len(ask.Engines) > 0 {
		wanted := slices.DeleteFunc(slices.Clone(engines), func(e doctor.Engine) bool { return !slices.Contains(ask.Engines, e) })
		if len(wanted) == 0 {
			return doctor.Report{}, fmt.Errorf("bed %s does not use --engine %s: it needs %s", ask.Bed, engineNames(ask.Engines), engineNames(engines))
		}
		engines = wanted
	}
	every := ask.Bed != "" || len(ask.Nodes) > 0
	return doctor.Judge(facts, engines, every), nil
}

func engineNames(engines []doctor.Engine) string {
	var names []string
	for _, e := range engines {
		names = append(names, string(e))
	}
	return strings.Join(names, ", ")
}

// diagnosis is a report in the formats of the command.
type diagnosis doctor.Report

// Write implements writer.
func (d diagnosis) Write(w io.Writer, format report.Format) error {
	if format != report.FormatTable {
		return terminal.WriteObject(w, doctor.Report(d), format)
	}
	p := layout.PaperOf(w)
	_, err := io.WriteString(w, doctor.Report(d).TextOn(p.Width, p.Verdict))
	return err
}
