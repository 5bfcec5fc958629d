package apart

import (
	"context"
	"io"

	"nodrop.dev/nodrop/internal/reporting/archive/figures"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// Figures returns a function that lets a worker read the figures of documents of an archive.
func Figures(worker Worker, archiveURL string) figures.Whole {
	return func(ctx context.Context, key string) (*report.Document, error) {
		working, cancel := context.WithCancel(ctx)
		defer cancel()
		reader, writer := io.Pipe()
		done := make(chan error, 1)
		go func() {
			err := worker.Do(working, Task{Archive: archiveURL, Figures: key}, writer)
			_ = writer.CloseWithError(err)
			done <- err
		}()
		d, err := figures.Decode(reader)
		if err != nil {
			cancel()
			_ = reader.Close()
		}
		switch failure := <-done; {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case CauseOf(failure) != "":
			return nil, failure
		case err != nil:
			return nil, err
		}
		return d, nil
	}
}
