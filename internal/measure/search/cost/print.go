package cost

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes the parameters of a comparison and its rows.
func Print(w io.Writer, setup Setup, rows []Row) error {
	cfg := setup.Config
	_, err := fmt.Fprintf(w, `%d simulated devices, each searched at %d frame sizes, with the same seeds for every search. Of %d devices one has
deep buffers; of the others loss begins over 0.02%% to 1%% above the zero-loss rate. %.3g%% of the trials lose frames for
no reason of the device. Full trials of %s, zero loss, loads from %.4g%% to %.4g%% of line rate, resolution %.4g%% of
it, which is also the width of MLRsearch where the widths are equal. Its other defaults are those of
%s.

Trials, sending and wall are means per search, in seconds; wall has settling (%s, or until all frames are back) and
rest (%s). Early: a trial ends once its loss is certain. Error is the distance from the true zero-loss rate in ppm of
line rate. Loss is the chance that a fresh trial of %s at the load found loses a frame. Forgiven: failures taken back
per search. Refuted: searches whose load found lost a frame in a trial of full length.

`, setup.Seeds, len(Sizes), deepEvery, setup.Disturbed*100, cfg.TrialDuration, percent(cfg.MinPPM), percent(cfg.MaxPPM), percent(cfg.ResolutionPPM),
		Reference, Settle, Rest, cfg.TrialDuration)
	if err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	early := map[string]string{}
	for _, m := range Methods() {
		early[m.Name] = map[bool]string{true: "yes", false: "no"}[m.EndsEarly]
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "search\tdevices\tearly\ttrials\tsending\twall\twall median\terror mean\tmedian\t95%\tloss\tforgiven\trefuted\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\t%.0f\t%.2f%%\t%.3f\t%d\t\n", r.Method, r.Kind, early[r.Method],
			r.Trials, r.Sending, r.Wall, r.MedianWall, r.MeanErrorPPM, r.ErrorPPM, r.Error95PPM, r.Loss*100, r.Forgiven, r.Refuted)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	ours := row(rows, NameInformed)
	for _, name := range []string{NamePublished, NameEqual} {
		other := row(rows, name)
		if ours == nil || other == nil || other.Wall == 0 {
			return nil
		}
		_, err = fmt.Fprintf(w, "\n%s takes %.2f of the mean wall time of %s (median %.2f), with an error of %.0f against %.0f ppm (95%%: %.0f against %.0f)\nand a chance of loss of %.2f%% against %.2f%%.\n",
			NameInformed, ours.Wall/other.Wall, name, ours.MedianWall/other.MedianWall,
			ours.MeanErrorPPM, other.MeanErrorPPM, ours.Error95PPM, other.Error95PPM, ours.Loss*100, other.Loss*100)
		if err != nil {
			return fmt.Errorf("writing the comparison: %w", err)
		}
	}
	return nil
}

func percent(ppm int64) float64 { return float64(ppm) / 10_000 }

// row is the row of a method for all devices, nil when there is none.
func row(rows []Row, method string) *Row {
	for i := range rows {
		if rows[i].Method == method && rows[i].Kind == All {
			return &rows[i]
		}
	}
	return nil
}
