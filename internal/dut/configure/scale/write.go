package scale

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/generate"
)

// prefix of the name of a list on the device, so that it is none of the names that the device has.
const prefix = "nodrop-"

// flush is the first line of a whole rule set of nftables, which a list is added to.
const flush = "flush ruleset\n"

// Write returns a configuration in the words of a platform with a list of n entries in addition.
func Write(platform string, wanted configure.Configuration, described *v1alpha1.DeviceScale, n int64) (string, error) {
	acl, err := accessList(described, n)
	if err != nil {
		return "", err
	}
	list, err := acl.Write(generate.Dialect(platform))
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(wanted), "\n") + "\n" + strings.TrimPrefix(list, flush), nil
}

// accessList returns a described list with n entries.
func accessList(described *v1alpha1.DeviceScale, n int64) (*generate.ACL, error) {
	acl := &generate.ACL{
		Name: prefix + described.Name, Ports: described.AccessList.Ports, Entries: int(n), Match: generate.Match(described.AccessList.Match),
	}
	if acl.Match == "" {
		acl.Match = generate.Match(v1alpha1.AccessListMatchLast)
	}
	for i, text := range described.AccessList.Permit {
		p, err := netip.ParsePrefix(string(text))
		if err != nil {
			return nil, fmt.Errorf("permit[%d]: Invalid value: %q: want an IPv4 network, such as 198.18.1.0/24", i, text)
		}
		acl.Permit = append(acl.Permit, p)
	}
	return acl, nil
}

// ValidateBed returns the problems of the lists of a bed that its schema does not find. The lowest number of entries is the one that may be
// too low for the list.
func ValidateBed(bed *v1alpha1.TestBed) field.ErrorList {
	var problems field.ErrorList
	path := field.NewPath("spec", "device", "physical", "management", "ssh", "scales")
	for i := range bed.Spec.Device.Scales() {
		described := &bed.Spec.Device.Scales()[i]
		if _, err := Write(bed.Spec.Device.Management().Platform(), "", described, described.Range.Minimum); err != nil {
			problems = append(problems, field.Invalid(path.Index(i), described.Name, err.Error()))
		}
	}
	return problems
}
