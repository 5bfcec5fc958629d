package beds

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/platform"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/dut/device/parameters"
	"nodrop.dev/nodrop/internal/dut/telemetry/readers"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// configurationsAreSound reads the configurations of a device that NoDrop configures.
func (r *Reconciler) configurationsAreSound(ctx context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	language, problem := languageOf(bed)
	if language == nil {
		if problem != "" {
			return v1alpha1.ReasonBedInvalid, problem, nil
		}
		return "", "", nil
	}
	base := ""
	for i, c := range device.Configurations(bed.Spec.Device) {
		text, problem, err := r.LabFiles().Configuration(ctx, c.ConfigMapRef)
		if err != nil {
			return "", "", err
		}
		if i == 0 {
			base = text
		}
		if problem == "" {
			if text, err = parameters.Fill(text, &bed.Spec.Device, c.Variant, nil); err == nil {
				_, err = configure.Whole(language, text)
			}
			if err != nil {
				problem = fmt.Sprintf("key %s of ConfigMap %s: %v", c.ConfigMapRef.Key, c.ConfigMapRef.Name, err)
			}
		}
		if problem != "" {
			return v1alpha1.ReasonBedInvalid, problem, nil
		}
		if err := labobjects.CheckConfigurations(bed.Name, text, base); err != nil {
			return v1alpha1.ReasonBedInvalid, err.Error(), nil
		}
	}
	return "", "", nil
}

// languageOf returns the language of a device that NoDrop configures; nil for another one, or with a problem.
func languageOf(bed *v1alpha1.TestBed) (_ configure.Language, problem string) {
	switch m, node := bed.Spec.Device.Management(), bed.Spec.Device.NodeConfiguration(); {
	case m != nil:
		kind, err := platform.Named(m.Platform())
		if err != nil {
			return nil, "spec.device.physical.management: " + err.Error()
		}
		return kind.Language, ""
	case node != nil:
		language, err := platform.NodeLanguage(node)
		if err != nil {
			return nil, "spec.device.containerlab.configuration." + err.Error()
		}
		return language, ""
	}
	return nil, ""
}

// accessExists checks for the Secrets by which a device is reached. Their type is a condition of the request:
// their content is not read.
func (r *Reconciler) accessExists(ctx context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	if m := bed.Spec.Device.Management(); m != nil {
		kind, err := platform.Named(m.Platform())
		if err != nil {
			return "", "", nil // configurationsAreSound reports it.
		}
		message, err := r.secretExists(ctx, m.SecretName, v1alpha1.DeviceAccessSecretType, "the keys "+kind.Keys)
		if err != nil || message != "" {
			return v1alpha1.ReasonBedInvalid, "spec.device.physical.management.secretName: " + message, err
		}
	}
	if t := bed.Spec.Device.Telemetry(); t != nil {
		message, err := r.secretExists(ctx, t.SecretName, v1alpha1.DeviceAccessSecretType, "the keys "+readers.Keys(t))
		if err != nil || message != "" {
			return v1alpha1.ReasonBedInvalid, "spec.device.physical.telemetry.secretName: " + message, err
		}
	}
	if p := bed.Spec.Device.Power(); p != nil {
		message, err := r.secretExists(ctx, p.SecretName, v1alpha1.DeviceAccessSecretType, "the keys "+readers.MeterKeys)
		if err != nil || message != "" {
			return v1alpha1.ReasonBedInvalid, "spec.device.physical.power.secretName: " + message, err
		}
	}
	return "", "", nil
}

// hookSecretsExist checks for the Secrets that hooks get, as accessExists does.
func (r *Reconciler) hookSecretsExist(ctx context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	if bed.Spec.Hooks == nil {
		return "", "", nil
	}
	for _, stage := range []labobjects.Stage{labobjects.BeforeLease, labobjects.AfterLease} {
		for i, h := range (&labobjects.Hooks{LeaseHooks: *bed.Spec.Hooks}).Of(stage) {
			if h.SecretName == "" {
				continue
			}
			message, err := r.secretExists(ctx, h.SecretName, v1alpha1.HookSecretType, "the files that the hook reads")
			if err != nil || message != "" {
				return v1alpha1.ReasonBedInvalid, fmt.Sprintf("spec.hooks.%s[%d].secretName: %s", stage, i, message), err
			}
		}
	}
	return "", "", nil
}

// secretExists describes a Secret of a type that is not there; empty if it is.
func (r *Reconciler) secretExists(ctx context.Context, name, kind, keys string) (string, error) {
	found := &metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	err := r.Live.List(ctx, found, client.InNamespace(r.Lab.Namespace), client.MatchingFieldsSelector{Selector: fields.SelectorFromSet(fields.Set{
		"metadata.name": name, "type": kind,
	})})
	if err != nil {
		return "", fmt.Errorf("looking for Secret %s: %w", name, err)
	}
	if len(found.Items) == 0 {
		return fmt.Sprintf("namespace %s has no Secret %s of type %s: create it there with that type and %s", r.Lab.Namespace, name, kind, keys), nil
	}
	return "", nil
}

// restoresBase reports whether a probe gives the device its base first, as a person has asked. The bed is closed
// then, so that no benchmark gets it meanwhile.
func restoresBase(bed *v1alpha1.TestBed) bool {
	_, asked := bed.Annotations[v1alpha1.AnnotationRestoreBase]
	return asked && kit.ReasonOf(bed.Status.Conditions, v1alpha1.ConditionHealthy) == v1alpha1.ReasonConfigurationDiffers
}

// ofDevice describes what a probe found of the device, and the remedy.
func ofDevice(bed *v1alpha1.TestBed, c *configure.Comparison) []finding {
	if c.Problem != "" {
		if c.Refused {
			return []finding{{v1alpha1.ReasonDeviceRefused, fmt.Sprintf(
				"%s: correct Secret %s, or management of the bed; the next attempt is the next probe, or after an edit of the bed", c.Problem, bed.Spec.Device.Management().SecretName)}}
		}
		return []finding{{v1alpha1.ReasonDeviceUnreachable, "the configuration of the device cannot be read: " + c.Problem}}
	}
	if len(c.Differences) == 0 {
		return nil
	}
	more := ""
	if c.More > 0 {
		more = fmt.Sprintf(", and %d more", c.More)
	}
	return []finding{{v1alpha1.ReasonConfigurationDiffers, fmt.Sprintf(
		"the device differs from its base: %q%s; to restore it: kubectl annotate testbed %s %s=yes; to keep what it has, write that into the ConfigMap of the base",
		c.Differences, more, bed.Name, v1alpha1.AnnotationRestoreBase)}}
}
