package cost

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Print writes the parameters of a comparison and its rows.
func Print(w io.Writer, setup Setup, rows []Row) error {
	cfg := setup.Config
	_, err := fmt.Fprintf(w, `%d simulated noisy devices, each searched at %d frame sizes, with the same seeds for every search.
Full trials of %s, zero loss, loads from %.4g%% to %.4g%% of line rate, resolution %.4g%% of line rate; %.3g%% of the
trials lose frames for no reason of the device; loss begins over 0.02%% to 1%% above the zero-loss rate of the device.
Trials and seconds are medians (seconds of sending; with rest: %s more per trial; mean: of the seconds of sending).
Error is the distance from the true zero-loss rate, in ppm of line rate. Refuted: searches whose reported load lost a
frame in a trial of full length.

`, setup.Seeds, len(Sizes), cfg.TrialDuration, percent(cfg.MinPPM), percent(cfg.MaxPPM), percent(cfg.ResolutionPPM),
		setup.Disturbed*100, RestAndSettle)
	if err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "search\tframe size\ttrials\tseconds\tmean\twith rest\terror\terror 95%\trefuted\t")
	for _, r := range rows {
		size := "all"
		if r.Size > 0 {
			size = fmt.Sprintf("%d B", r.Size)
		}
		fmt.Fprintf(t, "%s\t%s\t%.0f\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\t%d\t\n",
			r.Method, size, r.Trials, r.Seconds, r.MeanSeconds, r.WallSeconds, r.ErrorPPM, r.Error95PPM, r.Refuted)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	plain, ours := row(rows, NameMLRsearch), row(rows, NameInformed)
	if plain == nil || ours == nil || plain.Seconds == 0 {
		return nil
	}
	_, err = fmt.Fprintf(w, "\n%s against %s, all frame sizes: %.2f of the trial-seconds (%.2f of the mean), error %.0f against %.0f ppm, 95%%: %.0f against %.0f ppm.\n",
		NameInformed, NameMLRsearch, ours.Seconds/plain.Seconds, ours.MeanSeconds/plain.MeanSeconds,
		ours.ErrorPPM, plain.ErrorPPM, ours.Error95PPM, plain.Error95PPM)
	if err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	return nil
}

func percent(ppm int64) float64 { return float64(ppm) / 10_000 }

// row is the row of a method for all frame sizes, nil when there is none.
func row(rows []Row, method string) *Row {
	for i := range rows {
		if rows[i].Method == method && rows[i].Size == 0 {
			return &rows[i]
		}
	}
	return nil
}
