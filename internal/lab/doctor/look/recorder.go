package look

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/internal/lab/doctor"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
)

const (
	recorderName     = "nodrop-recorder"
	recorderSelector = "app.kubernetes.io/name=nodrop,app.kubernetes.io/component=recorder"
	// recorderLines of its log are read: the last state is among them.
	recorderLines = 1000
)

// recorder reads what the recorder says of its spool in its log.
func (c *Cluster) recorder(ctx context.Context) doctor.Seen[*doctor.Recorder] {
	d, err := c.kube.AppsV1().Deployments(c.namespace).Get(ctx, recorderName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return doctor.Known[*doctor.Recorder](nil)
	}
	if err != nil {
		return see[*doctor.Recorder]("get deployments in namespace "+c.namespace, nil, err)
	}
	r := &doctor.Recorder{Ready: d.Status.ReadyReplicas > 0}
	if !r.Ready {
		return doctor.Known(r)
	}
	pods := c.kube.CoreV1().Pods(c.namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: recorderSelector})
	if err != nil {
		return see[*doctor.Recorder]("list pods in namespace "+c.namespace, nil, err)
	}
	for _, pod := range list.Items {
		text, err := pods.GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: new(int64(recorderLines)), LimitBytes: new(int64(logLimit))}).DoRaw(ctx)
		if err != nil {
			return see[*doctor.Recorder]("get pods/log in namespace "+c.namespace, nil, err)
		}
		if state, found := recorder.LastState(string(text)); found {
			r.State = &state
		}
	}
	return doctor.Known(r)
}
