package stored

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/canonical"
)

const (
	// maxSnapshotData is the maximum number of bytes of an input in one object: as base64 in
	// etcd it is a third more.
	maxSnapshotData = 160 << 10
	// maxInput bounds an input that is read back.
	maxInput = 16 << 20
)

// Snapshot stores an input. The source describes it; its digest is
// filled in. A large input makes several objects.
func Snapshot(b *v1alpha1.Benchmark, source v1alpha1.SnapshotSource, input any) ([]v1alpha1.BenchmarkSnapshot, error) {
	text, err := canonical.JSON(input)
	if err != nil {
		return nil, err
	}
	source.SHA256 = canonical.Sum(text)
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("preparing to compress %s %s: %w", source.Kind, source.Name, err)
	}
	defer encoder.Close()
	data := encoder.EncodeAll(text, nil)
	count := (len(data) + maxSnapshotData - 1) / maxSnapshotData
	parts := make([]v1alpha1.BenchmarkSnapshot, count)
	for i := range parts {
		part := int32(i + 1)
		parts[i] = v1alpha1.BenchmarkSnapshot{
			ObjectMeta: objectMeta(b, snapshotName(b, source, part)),
			Spec: v1alpha1.BenchmarkSnapshotSpec{
				BenchmarkName: b.Name, BenchmarkUID: string(b.UID), Source: source, Part: part, Parts: int32(count),
				Data: data[i*maxSnapshotData : min((i+1)*maxSnapshotData, len(data))],
			},
		}
	}
	return parts, nil
}

// errIncomplete means that parts of a snapshot are missing.
var errIncomplete = errors.New("parts of it are missing")

// restore reads an input back from the parts of all snapshots. It fails when a
// part is missing, and when the content is not what the source says.
func restore(snapshots []v1alpha1.BenchmarkSnapshot, source v1alpha1.SnapshotSource, into any) error {
	parts := map[int32][]byte{}
	count := int32(-1)
	for _, s := range snapshots {
		if s.Spec.Source == source {
			parts[s.Spec.Part] = s.Spec.Data
			count = s.Spec.Parts
		}
	}
	var data bytes.Buffer
	for i := int32(1); i <= count; i++ {
		data.Write(parts[i])
	}
	if count < 1 || len(parts) != int(count) {
		return fmt.Errorf("reading the snapshot of %s %s: %w", source.Kind, source.Name, errIncomplete)
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxInput))
	if err != nil {
		return fmt.Errorf("preparing to read the snapshot of %s %s: %w", source.Kind, source.Name, err)
	}
	defer decoder.Close()
	text, err := decoder.DecodeAll(data.Bytes(), nil)
	if err != nil {
		return fmt.Errorf("reading the snapshot of %s %s: %w", source.Kind, source.Name, err)
	}
	if got := canonical.Sum(text); got != source.SHA256 {
		return fmt.Errorf("reading the snapshot of %s %s: its digest is %s, not %s", source.Kind, source.Name, got, source.SHA256)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading the snapshot of %s %s: %w", source.Kind, source.Name, err)
	}
	return nil
}
