package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/internal/lab/labsim"
	"nodrop.dev/nodrop/internal/lab/queue"
)

// Bounds of a simulated lab.
const maxSimulated = 100000

func newLabSimCommand() *cobra.Command {
	c := labsim.Config{
		Aging: queue.Aging{Interval: 6 * time.Hour, Points: 100, Max: 1000},
	}
	cmd := &cobra.Command{
		Use:   "lab-sim",
		Short: "Simulate a lab that many teams share, and compare policies on the same trace",
		Long: `Simulate in memory and in simulated time how a lab with a LabPolicy shares its beds, and
compare it with first come first served and with Kueue's way of fair sharing (the team
with the lowest share of running beds by weight first) on the same random trace.

Teams have the weights 1 to 4. Half of the benchmarks come all the time, the other half in
nightly crowds. Most can use every bed, some two racks, a tenth one bed by its name.
Every twentieth bed is reserved for two hours a day, and one rack after the other is
closed for an hour each night.

What a team is due is its share by weight of what it could use, at each moment. The
table says how far what it has had differs from that over each window in which the team
had benchmarks waiting all the time.`,
		Example: `  nodrop-dev lab-sim
  nodrop-dev lab-sim --beds 20 --teams 5 --benchmarks 2000 --seed 7`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.IntVar(&c.Beds, "beds", 200, "number of beds, 1 to 100000")
	f.IntVar(&c.Teams, "teams", 40, "number of teams, 1 to 100000")
	f.IntVar(&c.Benchmarks, "benchmarks", 15000, "number of benchmarks, 1 to 100000")
	f.Float64Var(&c.Load, "load", 1.3, "work that arrives, as a multiple of what the beds can do")
	f.DurationVar(&c.Run, "run", 20*time.Minute, "median time for which a benchmark has its bed, 1m to 24h")
	f.DurationVar(&c.Window, "window", 6*time.Hour, "window of the shares, 1h to 168h")
	f.Uint64Var(&c.Seed, "seed", 1, "seed of the trace: the same seed makes the same trace")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkLabSim(c); err != nil {
			return err
		}
		var reports []labsim.Report
		for _, p := range labsim.Policies() {
			reports = append(reports, labsim.Simulate(p, c))
		}
		return printLabSim(cmd.OutOrStdout(), c, reports)
	}
	return cmd
}

func checkLabSim(c labsim.Config) error {
	for _, n := range []struct {
		flag  string
		value int
	}{{"beds", c.Beds}, {"teams", c.Teams}, {"benchmarks", c.Benchmarks}} {
		if n.value < 1 || n.value > maxSimulated {
			return fmt.Errorf("--%s is %d: give 1 to %d", n.flag, n.value, maxSimulated)
		}
	}
	switch {
	case !(c.Load >= 0.1 && c.Load <= 100):
		return fmt.Errorf("--load is %v: give 0.1 to 100", c.Load)
	case c.Run < time.Minute || c.Run > 24*time.Hour:
		return fmt.Errorf("--run is %s: give 1m to 24h", c.Run)
	case c.Window < time.Hour || c.Window > 7*24*time.Hour:
		return fmt.Errorf("--window is %s: give 1h to 168h", c.Window)
	}
	return nil
}

func printLabSim(out io.Writer, c labsim.Config, reports []labsim.Report) error {
	fmt.Fprintf(out, "%d benchmarks of %d teams on %d beds, load %.2f, shares over %s, seed %d\n\n", c.Benchmarks, c.Teams, c.Beds, c.Load, c.Window, c.Seed)
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	row := func(name string, value func(labsim.Report) string) {
		cells := []string{name}
		for _, r := range reports {
			cells = append(cells, value(r))
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	percent := func(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
	ofWindows := func(of func(labsim.Report) float64) func(labsim.Report) string {
		return func(r labsim.Report) string {
			if r.Windows == 0 {
				return "-"
			}
			return percent(of(r))
		}
	}
	hours := func(d time.Duration) string { return fmt.Sprintf("%.2f h", d.Hours()) }
	row("policy", func(r labsim.Report) string { return string(r.Policy) })
	row("simulated time", func(r labsim.Report) string { return hours(r.Length) })
	row("beds in use until the last start", func(r labsim.Report) string { return percent(r.Utilization) })
	row("windows in which a team always had demand", func(r labsim.Report) string { return fmt.Sprint(r.Windows) })
	row("  had within 5 % of what was due", ofWindows(func(r labsim.Report) float64 { return r.Within }))
	row("  deviation, 95 % of the windows", ofWindows(func(r labsim.Report) float64 { return r.Deviation95 }))
	row("  deviation, worst window", ofWindows(func(r labsim.Report) float64 { return r.Worst }))
	row("wait, median", func(r labsim.Report) string { return hours(r.Wait) })
	row("wait, longest", func(r labsim.Report) string { return hours(r.WaitMax) })
	row("longest wait over its fair wait", func(r labsim.Report) string { return fmt.Sprintf("%.2f", r.OverFair) })
	row("admissions per second of processor time", func(r labsim.Report) string { return fmt.Sprintf("%.0f", r.AdmissionsPerSecond) })
	row("time of a decision, p99", func(r labsim.Report) string { return fmt.Sprintf("%.1f ms", float64(r.DecisionP99)/1e6) })
	if err := table.Flush(); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	if slices.ContainsFunc(reports, func(r labsim.Report) bool { return r.Windows == 0 }) {
		fmt.Fprintln(out, "\nIn no window a team had benchmarks waiting all the time: give more benchmarks, or a higher --load.")
	}
	return nil
}
