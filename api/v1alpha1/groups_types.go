package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GroupJoinMethod is the method by which a group join delay is measured (RFC 3918 section
// 6.1).
//
// +kubebuilder:validation:Enum=A;B
type GroupJoinMethod string

const (
	// GroupJoinMethodA begins with a device that does not know the group.
	GroupJoinMethodA GroupJoinMethod = "A"
	// GroupJoinMethodB begins with a device that forwards the group to another port
	// already.
	GroupJoinMethodB GroupJoinMethod = "B"
)

// GroupJoinDelayTest measures how long after the report of a membership the first
// frame of the group arrives. The frames are sent before the ports join. It needs
// a traffic profile of multicast.
type GroupJoinDelayTest struct {
	// method is A, where no port is a member before, or B, where the last receiving
	// port of each group is, and is not measured.
	// +optional
	// +kubebuilder:default=A
	Method GroupJoinMethod `json:"method,omitempty"`
	// load is a percentage of line rate, a rate, or throughput: the rate that an earlier
	// throughput test of this benchmark found, which RFC 3918 recommends.
	// +optional
	// +kubebuilder:default="10%"
	Load Load `json:"load,omitempty"`
	// leadTime is the time for which frames are sent before the ports join.
	// +optional
	// +kubebuilder:default="1s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('1ms') && duration(self) <= duration('1h')",messageExpression="'leadTime is ' + self + ': give 1ms to 1h, a number with one of the units ns, us, ms, s, m and h'"
	LeadTime metav1.Duration `json:"leadTime,omitzero"`
	// waitTime is the time for which frames are sent after the ports joined. Longer delays are
	// not seen.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'waitTime is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	WaitTime metav1.Duration `json:"waitTime,omitzero"`
	// repetitions is the number of times that the delay is measured.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Repetitions int32 `json:"repetitions,omitempty"`
}

// GroupLeaveDelayTest measures how long after the report that ends a membership
// the last frame of the group arrives. It needs a traffic profile of multicast.
type GroupLeaveDelayTest struct {
	// load is a percentage of line rate, a rate, or throughput: the rate that an earlier
	// throughput test of this benchmark found, which RFC 3918 recommends.
	// +optional
	// +kubebuilder:default="10%"
	Load Load `json:"load,omitempty"`
	// leadTime is the time for which frames are sent to the ports, which are members, before
	// they leave. Every port must receive frames within it.
	// +optional
	// +kubebuilder:default="5s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('1ms') && duration(self) <= duration('1h')",messageExpression="'leadTime is ' + self + ': give 1ms to 1h, a number with one of the units ns, us, ms, s, m and h'"
	LeadTime metav1.Duration `json:"leadTime,omitzero"`
	// waitTime is the time for which frames are sent after the ports left. Longer delays are
	// not seen.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'waitTime is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	WaitTime metav1.Duration `json:"waitTime,omitzero"`
	// repetitions is the number of times that the delay is measured.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Repetitions int32 `json:"repetitions,omitempty"`
}

// GroupCapacityTest searches the greatest number of multicast groups of which the
// device forwards every frame: it joins more and more groups, and when some are
// not forwarded, halves the interval down to one group. It needs a traffic profile
// of multicast, whose groups are the most that are tried.
type GroupCapacityTest struct {
	// initialGroups is the number of groups that are joined first.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	InitialGroups int32 `json:"initialGroups,omitempty"`
	// groupIncrement is the number of further groups that are joined each time while all
	// groups are forwarded.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	GroupIncrement int32 `json:"groupIncrement,omitempty"`
	// load is the load of all groups of the profile together: a percentage of line rate, a
	// rate, or throughput. The rate of each group does not depend on the number of joined
	// groups. No frames are sent to groups that no port has joined.
	// +optional
	// +kubebuilder:default="10%"
	Load Load `json:"load,omitempty"`
	// joinTime is waited after groups were joined before frames are sent to them; a
	// group join delay test before it that found longer delays lengthens it.
	// +optional
	// +kubebuilder:default="2s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('0s') && duration(self) <= duration('1h')",messageExpression="'joinTime is ' + self + ': give 0s to 1h, a number with one of the units ns, us, ms, s, m and h'"
	JoinTime *metav1.Duration `json:"joinTime,omitempty"`
	// trialDuration is the length of every trial.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('100ms') && duration(self) <= duration('24h')",messageExpression="'trialDuration is ' + self + ': give 100ms to 24h, a number with one of the units ns, us, ms, s, m and h'"
	TrialDuration metav1.Duration `json:"trialDuration,omitzero"`
}
