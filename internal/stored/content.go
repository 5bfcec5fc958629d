package stored

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/report"
)

// Content reads everything that the document of a benchmark's result is made of: its
// rows and environment, and the inputs as they were. What was not kept, since the
// benchmark did not get so far, is absent.
func Content(ctx context.Context, reader client.Reader, b *v1alpha1.Benchmark) (report.Content, error) {
	result, err := Read(ctx, reader, b)
	if err != nil {
		return report.Content{}, err
	}
	in, err := ReadInputs(ctx, reader, b)
	if err != nil {
		return report.Content{}, err
	}
	return report.Content{
		Benchmark: b, Rows: result.Rows, Environment: result.Environment,
		Profile: in.Profile, Bed: in.Bed, ConfigMaps: in.ConfigMaps, Baselines: in.Baselines,
	}, nil
}
