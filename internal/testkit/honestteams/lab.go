package honestteams

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// AccountName is the name of the ServiceAccount of a team in its namespace.
const AccountName = "team"

// Account returns how the account of a team reaches the API server, with its token and without a limit
// of requests.
func Account(ctx context.Context, lab *rest.Config, admin client.Client, namespace string) (*rest.Config, error) {
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: AccountName}}
	if err := admin.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, fmt.Errorf("asking for the token of a team: %w", err)
	}
	cfg := rest.AnonymousClientConfig(lab)
	cfg.BearerToken, cfg.QPS = request.Status.Token, -1
	return cfg, nil
}

// heldBeds closes all beds and waits until no benchmark has one, at most for a minute. It returns the names of
// beds that stay leased or are quarantined.
func heldBeds(ctx context.Context, admin client.Client) ([]string, error) {
	closed := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`))
	var beds v1alpha1.TestBedList
	if err := admin.List(ctx, &beds); err != nil {
		return nil, fmt.Errorf("listing beds: %w", err)
	}
	for i := range beds.Items {
		if err := admin.Patch(ctx, &beds.Items[i], closed); err != nil {
			return nil, fmt.Errorf("closing a bed: %w", err)
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		if err := admin.List(ctx, &beds); err != nil {
			return nil, fmt.Errorf("listing beds: %w", err)
		}
		var held []string
		for i := range beds.Items {
			bed := &beds.Items[i]
			if bed.Status.Lease != nil || meta.IsStatusConditionTrue(bed.Status.Conditions, v1alpha1.ConditionQuarantined) {
				held = append(held, bed.Name)
			}
		}
		if len(held) == 0 || time.Now().After(end) {
			return held, nil
		}
	}
}
