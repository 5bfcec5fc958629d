package doctor

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// pageSizes are the sizes that TRexHugePages can name.
var pageSizes = []string{"1Gi", "2Mi"}

func resourceOf(pageSize string) corev1.ResourceName {
	return corev1.ResourceName(corev1.ResourceHugePagesPrefix + pageSize)
}

// hugePages checks for as many as the bed needs, or for some of any size.
func hugePages(f Facts, n Node, e Engine) verdict {
	wanted := needs(f, n, e)
	names := of(wanted, isHugePages)
	if len(names) == 0 {
		return anyHugePages(n)
	}
	// The definition of a bed has one size of pages.
	name := names[0]
	has, want := n.Allocatable[name], wanted[name]
	seen := fmt.Sprintf("%s: %s allocatable, %s for TRex", name, &has, &want)
	if has.Cmp(want) < 0 {
		return missing(seen, hugePagesAdvice(n, strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix), want))
	}
	return good(seen)
}

func anyHugePages(n Node) verdict {
	var seen []string
	for _, size := range pageSizes {
		if has := n.Allocatable[resourceOf(size)]; !has.IsZero() {
			seen = append(seen, fmt.Sprintf("%s: %s allocatable", resourceOf(size), &has))
		}
	}
	if len(seen) > 0 {
		return good(strings.Join(seen, ", "))
	}
	return missing("none allocatable", hugePagesAdvice(n, pageSizes[0], resource.MustParse("4Gi")))
}

// hugePagesAdvice distinguishes pages that the kubelet has not counted yet from pages
// that were never allocated.
func hugePagesAdvice(n Node, size string, total resource.Quantity) string {
	page := resource.MustParse(size)
	for _, p := range n.Probe.Value.HugePages {
		if p.SizeBytes == page.Value() && p.Total*p.SizeBytes >= total.Value() {
			return fmt.Sprintf("the kernel has %d pages of %s: restart the kubelet, which counts them when it starts", p.Total, size)
		}
	}
	pages := (total.Value() + page.Value() - 1) / page.Value()
	// The kernel's parameters have 1G and 2M where Kubernetes has 1Gi and 2Mi.
	kernelSize := strings.TrimSuffix(size, "i")
	return fmt.Sprintf("boot the node with hugepagesz=%s hugepages=%d, which is %s", kernelSize, pages, &total)
}
