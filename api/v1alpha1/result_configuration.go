package v1alpha1

// SetConfiguration sets what NoDrop gave the device in a variant; without a name, what it gave the device
// of a benchmark without variants. A variant that the environment does not have is ignored.
func (e *ResultEnvironment) SetConfiguration(variant VariantName, c *DeviceConfiguration) {
	if variant == "" {
		e.Configuration = c.DeepCopy()
		return
	}
	for i := range e.Variants {
		if e.Variants[i].Name == variant {
			e.Variants[i].Configuration = c.DeepCopy()
		}
	}
}

// Configurations returns what NoDrop gave the device, by the names of variants.
func (e *ResultEnvironment) Configurations() map[VariantName]*DeviceConfiguration {
	all := map[VariantName]*DeviceConfiguration{}
	if e.Configuration != nil {
		all[""] = e.Configuration
	}
	for i := range e.Variants {
		if c := e.Variants[i].Configuration; c != nil {
			all[e.Variants[i].Name] = c
		}
	}
	return all
}

// KeepConfigurations adds what an earlier environment has of variants that were measured before.
func (e *ResultEnvironment) KeepConfigurations(earlier *ResultEnvironment) {
	if earlier == nil {
		return
	}
	known := e.Configurations()
	for variant, c := range earlier.Configurations() {
		if known[variant] == nil {
			e.SetConfiguration(variant, c)
		}
	}
}
