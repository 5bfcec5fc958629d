package controllers_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// TestArchiveOutage kills the S3 server of the archive while benchmarks end and are
// deleted, and the operator meanwhile. Once the server is back every result is
// there, and every object was written once.
func TestArchiveOutage(t *testing.T) {
	longtest.Skip(t, "TestArchive with an archive that is away, and TestArchivedResults of cmd/nodrop with S3")
	s3 := testserver.StartMinIO(t)
	w := newWorld(t, takeServer(t))
	w.with(func(o *kit.Options) { o.Archive = w.openArchive(s3.URL("lab")) })
	w.modelledBed()

	w.measures("before")
	documents := map[string]string{"before": w.archived("before").URL}

	s3.Stop()
	const during = 6
	var deleted []*v1alpha1.Benchmark
	for n := range during {
		b := w.measures(fmt.Sprintf("during-%d", n))
		w.says(b.Name, v1alpha1.ConditionArchived, v1alpha1.ReasonArchiveUnavailable)
		switch n {
		case 1:
			w.Expect(w.c.Delete(t.Context(), b)).To(Succeed())
			deleted = append(deleted, b)
		case 2: // A whole namespace is deleted like this.
			w.collectGarbage(b)
			w.Expect(w.c.Delete(t.Context(), b, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
			deleted = append(deleted, b)
		case 3:
			w.edit(b, func(b *v1alpha1.Benchmark) { b.Spec.TTLSecondsAfterFinished = ptr(int32(0)) })
			deleted = append(deleted, b)
		case 4:
			w.stop()
			w.start()
		}
		w.isKept(b)
		documents[b.Name] = fmt.Sprintf("%s/%s/%s.json.zst?endpoint=http://%s", "s3://"+s3.Bucket+"/lab/"+team+"/"+w.namespaceUID(team), b.Name, b.UID, s3.Address)
	}

	s3.Resume()
	for _, b := range deleted {
		w.vanishes(b)
		w.isFree(b)
	}
	for _, n := range []int{0, 4, 5} {
		w.archived(fmt.Sprintf("during-%d", n))
	}
	w.measures("after")
	documents["after"] = w.archived("after").URL

	for name, url := range documents {
		document := w.readArchived(url)
		w.Expect(document.Benchmark.Name).To(Equal(name))
		w.Expect(document.Rows).To(HaveLen(2))
	}
	versions := s3.Versions()
	w.Expect(versions).To(HaveLen(3*len(documents)), "a document, its digest and its figures for each")
	w.Expect(slices.Max(slices.Collect(maps.Values(versions)))).To(Equal(1), "versions of an object: %v", versions)
}
