package stored

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/canonical"
)

const (
	// uidLength is the number of characters of a UID in names.
	uidLength = 8
	// maxStem bounds the part of a name that comes from the benchmark's name; the
	// rest of a name needs less than 40 characters.
	maxStem = 200
	// maxLabel is the maximum length of the value of a label.
	maxLabel = 63
)

// stem begins the names of everything that is stored of a benchmark.
func stem(b *v1alpha1.Benchmark) string {
	return shortened(b.Name, maxStem) + "-" + shortUID(b.UID)
}

func shortUID(uid types.UID) string {
	id := strings.ReplaceAll(string(uid), "-", "")
	return id[:min(uidLength, len(id))]
}

// shortened is a name of at most limit characters: a longer one is its beginning
// and a digest, so that two of them stay different.
func shortened(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	return strings.TrimRight(name[:limit-9], "-.") + "-" + canonical.Sum([]byte(name))[:8]
}

// PartName is the name of a part of the result; parts count from 1.
func PartName(b *v1alpha1.Benchmark, part int32) string {
	return fmt.Sprintf("%s-%d", stem(b), part)
}

// snapshotName is the name of a part of an input. It depends on the content, so
// that the same input is stored once and another one never replaces it.
func snapshotName(b *v1alpha1.Benchmark, source v1alpha1.SnapshotSource, part int32) string {
	return fmt.Sprintf("%s-%s-%d", stem(b), canonical.Sum([]byte(string(source.Kind) + "/" + source.Name + "/" + source.SHA256))[:16], part)
}

// Labels returns the labels of everything that is stored of a benchmark.
func Labels(b *v1alpha1.Benchmark) map[string]string {
	return map[string]string{
		v1alpha1.LabelBenchmark:    shortened(b.Name, maxLabel),
		v1alpha1.LabelBenchmarkUID: string(b.UID),
	}
}

// Selector selects everything that is stored of a benchmark.
func Selector(b *v1alpha1.Benchmark) map[string]string {
	return map[string]string{v1alpha1.LabelBenchmarkUID: string(b.UID)}
}

// objectMeta returns the metadata of an object that the benchmark owns. It does not keep the
// benchmark from being deleted.
func objectMeta(b *v1alpha1.Benchmark, name string) metav1.ObjectMeta {
	yes, no := true, false
	return metav1.ObjectMeta{
		Namespace: b.Namespace, Name: name, Labels: Labels(b),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Benchmark", Name: b.Name, UID: b.UID,
			Controller: &yes, BlockOwnerDeletion: &no,
		}},
	}
}
