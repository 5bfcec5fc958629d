package terminal

import "github.com/spf13/pflag"

// connectionKey is the annotation of flags that lead to a cluster.
const connectionKey = "nodrop.dev/connection"

// MarkConnection marks flags that lead to a cluster. The help shows them behind the flags of the command.
func MarkConnection(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[connectionKey] = nil
	})
}

// IsConnection reports whether a flag leads to a cluster.
func IsConnection(f *pflag.Flag) bool {
	_, is := f.Annotations[connectionKey]
	return is
}
