package labobjects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxFiles is the maximum size in bytes of the files in a secret: in base64 they are a third
// larger, and no object that the operator writes is larger than 256 KiB.
const maxFiles = 176 << 10

// kib is a size in KiB, rounded up.
func kib(bytes int) int { return (bytes + 1023) >> 10 }

// sizeOf returns the size of the keys and their values in bytes.
func sizeOf[V ~string | ~[]byte](data map[string]V) (bytes int) {
	for key, value := range data {
		bytes += len(key) + len(value)
	}
	return bytes
}

func secret(s Settings, run Run, name, role string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: s.Namespace, Labels: run.labels(role),
			Annotations: map[string]string{AnnotationBenchmark: run.Namespace + "/" + run.Name},
		},
		Type: corev1.SecretTypeOpaque,
		Data: data,
	}
}

func secretVolume(volume, name string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: name, DefaultMode: ptr(int32(0o440))},
	}}
}

// configVolume mounts one key of a secret, as the file of that name.
func configVolume(volume, secret, key string) corev1.Volume {
	v := secretVolume(volume, secret)
	v.Secret.Items = []corev1.KeyToPath{{Key: key, Path: key}}
	return v
}
