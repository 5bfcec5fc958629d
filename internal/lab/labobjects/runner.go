package labobjects

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodrop.dev/nodrop/internal/measure/runner"
)

// annotationAttempt counts the runner pods of a run, from 1.
const annotationAttempt = "nodrop.dev/attempt"

// runnerFile is the key of the runner's secret, and the file of that name in its pod.
const runnerFile = "run.json.zst"

// RunnerSecret holds the configuration of the runner. Attempt counts runner pods
// from 1 and is kept in an annotation.
func RunnerSecret(s Settings, run Run, cfg runner.Config, attempt int) (*corev1.Secret, error) {
	data, err := cfg.Encode()
	if err != nil {
		return nil, err
	}
	if len(data) > maxFiles {
		return nil, fmt.Errorf("the configuration of the runner has %d KiB, compressed, and at most %d KiB are allowed: shorten labels and tests of the benchmark, and the tables of the device", kib(len(data)), kib(maxFiles))
	}
	sec := secret(s, run, run.RunnerName(), RoleRunner, map[string][]byte{runnerFile: data})
	sec.Annotations[annotationAttempt] = strconv.Itoa(attempt)
	return sec, nil
}

// RunnerConfig reads back what RunnerSecret wrote.
func RunnerConfig(sec *corev1.Secret) (cfg runner.Config, attempt int, err error) {
	if err := cfg.Decode(sec.Data[runnerFile]); err != nil {
		return cfg, 0, fmt.Errorf("reading secret %s: %w", sec.Name, err)
	}
	attempt, err = strconv.Atoi(sec.Annotations[annotationAttempt])
	if err != nil {
		return cfg, 0, fmt.Errorf("reading annotation %s of secret %s: %w", annotationAttempt, sec.Name, err)
	}
	return cfg, attempt, nil
}

// RunnerAttempt returns the attempt for which a runner pod was made, or 0 if the pod does not
// name it.
func RunnerAttempt(pod *corev1.Pod) int {
	attempt, err := strconv.Atoi(pod.Annotations[annotationAttempt])
	if err != nil {
		return 0
	}
	return attempt
}

// AnnotationAgents of the pod of a runner lists the addresses that the runner was made for.
const AnnotationAgents = "nodrop.dev/agents"

// AgentAddresses returns the addresses of agents, and of the pod that reads the device, as one text.
func AgentAddresses(agents []runner.AgentEndpoint, telemetry *runner.TelemetryEndpoint) string {
	var addresses []string
	for _, a := range agents {
		addresses = append(addresses, a.Address)
	}
	if telemetry != nil {
		addresses = append(addresses, telemetry.Address)
	}
	return strings.Join(addresses, ",")
}

// RunnerPod executes the plan without any rights: its secret has everything it needs,
// and the operator reads its state. A killed container restarts in the same pod and
// continues from its checkpoint.
func RunnerPod(s Settings, run Run, attempt int) *corev1.Pod {
	pod := pod(s, run, run.RunnerName(), RoleRunner)
	pod.Annotations[annotationAttempt] = strconv.Itoa(attempt)
	pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	pod.Spec.SecurityContext.RunAsNonRoot = ptr(true)
	pod.Spec.SecurityContext.RunAsUser = ptr(int64(user))
	pod.Spec.SecurityContext.RunAsGroup = ptr(int64(user))
	pod.Spec.SecurityContext.FSGroup = ptr(int64(user))
	pod.Spec.Volumes = []corev1.Volume{
		secretVolume("config", run.RunnerName()),
		certificateVolume(run.certificatesName(), ownerRunner),
		{Name: "checkpoint", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			SizeLimit: ptr(resource.MustParse("96Mi")),
		}}},
	}
	pod.Spec.Containers = []corev1.Container{{
		Name:            "runner",
		Image:           s.Image,
		ImagePullPolicy: s.PullPolicy,
		Args: []string{
			"runner", "--config", configDir + "/" + runnerFile, "--tls", tlsDir,
			"--checkpoint", checkpointDir, "--operator", run.OperatorHost(),
		},
		Ports: []corev1.ContainerPort{{Name: "https", ContainerPort: RunnerPort}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: configDir, ReadOnly: true},
			{Name: "tls", MountPath: tlsDir, ReadOnly: true},
			{Name: "checkpoint", MountPath: checkpointDir},
		},
		ReadinessProbe: listening(RunnerPort),
		Resources:      sharing("50m", "64Mi", "1Gi"),
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr(false),
			ReadOnlyRootFilesystem:   ptr(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}}
	return pod
}
