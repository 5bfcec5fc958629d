package v1alpha1

// ProfileRouting contains the routes that the tester announces to the device.
type ProfileRouting struct {
	// routes are sets of routes, which are announced in their order before the first
	// test. Frames go to the networks that the receiving port announces, one address in
	// each in turn, and to the port's own address where it announces none.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="[self.map(v, v.name)].all(names, names.all(n, names.exists_one(m, m == n)))",messageExpression="'routes has the name ' + self.map(v, v.name).filter(n, !self.exists_one(w, w.name == n))[0] + ' more than once: give every set of routes a name of its own'"
	Routes []RouteSet `json:"routes"`
}

// RouteSet is a number of routes with the same path attributes, or the routes of a dump.
//
// +kubebuilder:validation:XValidation:rule="has(self.first) != has(self.mrt)",messageExpression="'routes ' + self.name + ' need either first, the prefix of the first of them, or mrt, a dump that has them: give one of the two'"
// +kubebuilder:validation:XValidation:rule="!has(self.mrt) || has(self.traffic) && !self.traffic",messageExpression="'routes ' + self.name + ' come from a dump, whose networks are those of others, and no frame may go there: give traffic: false, and send frames to other networks'"
// +kubebuilder:validation:XValidation:rule="!has(self.mrt) || has(self.sessions) && self.sessions.size() == 1",messageExpression="'routes ' + self.name + ' come from a dump, which one session announces: name it in sessions'"
// +kubebuilder:validation:XValidation:rule="!has(self.mrt) || !(has(self.asPath) || has(self.med) || has(self.communities) || has(self.label) || has(self.shared)) && (!has(self.count) || self.count == 1) && (!has(self.stride) || self.stride == 1)",messageExpression="'routes ' + self.name + ' come from a dump, which has their number and attributes: leave out count, stride, shared, asPath, med, communities and label'"
// +kubebuilder:validation:XValidation:rule="!has(self.label) || has(self.traffic) && !self.traffic",messageExpression="'routes ' + self.name + ' have a label, with which the device would send the frames to them, and ports count frames without: give traffic: false, and send frames to other networks'"
// +kubebuilder:validation:XValidation:rule="!has(self.label) || self.label + self.count <= 1048576",messageExpression="'routes ' + self.name + ' have labels beyond 1048575, the last one: lower count or label'"
type RouteSet struct {
	// name of the set, unique in the profile.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a name of routes: use lower-case letters, digits and dashes, such as networks'"
	Name string `json:"name"`
	// sessions of the bed that announce the set, by the names in the bed. An entry with
	// several sessions means all of them. Without it, all sessions of the bed that carry the
	// family of first announce the set.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=48
	Sessions []string `json:"sessions,omitempty"`
	// first is the prefix of the first route, such as 198.18.128.0/24. The others count up
	// from it.
	// +optional
	First AddressPrefix `json:"first,omitempty"`
	// mrt is a dump that the routes are read from, in place of first: prefixes, AS paths, MED
	// and communities. Without a cluster only.
	// +optional
	MRT *MRTDump `json:"mrt,omitempty"`
	// count of routes of each session.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777216
	Count int32 `json:"count,omitempty"`
	// stride is the distance between two successive routes, in prefixes of this length.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65536
	Stride int32 `json:"stride,omitempty"`
	// shared reports whether every session announces the same prefixes: further paths to them.
	// Otherwise the prefixes of the next session follow.
	// +optional
	Shared *bool `json:"shared,omitempty"`
	// traffic reports whether frames are sent to the networks. Sets without traffic fill the
	// tables of the device, such as shorter prefixes that cover another set.
	// +optional
	// +kubebuilder:default=true
	Traffic *bool `json:"traffic,omitempty"`
	// asPath are AS numbers that follow the tester's own in the AS_PATH, 1 to 4294967295.
	// The longer it is, the less the path is preferred.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XValidation:rule="self >= 1 && self <= 4294967295",messageExpression="'%d is not an AS number: give 1 to 4294967295'.format([self])"
	ASPath []int64 `json:"asPath,omitempty"`
	// med is the MULTI_EXIT_DISC, 0 to 4294967295; none is sent without it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	MED *int64 `json:"med,omitempty"`
	// communities of the routes (RFC 1997): an AS number and a value, such as 65001:100.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=3
	// +kubebuilder:validation:items:MaxLength=11
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[0-9]{1,5}:[0-9]{1,5}$') && self.split(':').all(n, int(n) <= 65535)",messageExpression="'\"' + self + '\" is not a community: give two numbers of 0 to 65535, such as 65001:100'"
	Communities []string `json:"communities,omitempty"`
	// label is the MPLS label of the first route (RFC 8277), 16 to 1048575; the labels of
	// the others count up, and each session begins anew. It makes the routes labeled unicast,
	// which the sessions must carry.
	// +optional
	// +kubebuilder:validation:Minimum=16
	// +kubebuilder:validation:Maximum=1048575
	Label int32 `json:"label,omitempty"`
}

// MRTDump is a dump of a routing table in MRT (RFC 6396, TABLE_DUMP_V2), plain or compressed
// by gzip or bzip2.
type MRTDump struct {
	// file with the dump on the machine that measures; a path that does not begin with a
	// slash is looked up in the directory in which nodrop runs.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	File string `json:"file"`
	// peer of the collector whose routes are taken, by its address; of each IP version the
	// one with the most routes without it.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=45
	Peer string `json:"peer,omitempty"`
	// Routes that were read from the file; nil before. They are in no object of the API.
	Routes *DumpedRoutes `json:"-"`
}

// DumpedRoutes are the routes of a dump. They never change, so that copies share them.
//
// +kubebuilder:object:generate=false
type DumpedRoutes struct {
	// Sets has the routes in the form of package routing, which this package does not know.
	Sets any `json:"-"`
}

// DeepCopy returns the routes themselves.
func (d *DumpedRoutes) DeepCopy() *DumpedRoutes { return d }
