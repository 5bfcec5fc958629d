package controllers

// The operator's rights. config/rbac/role.yaml and the chart's roles are generated
// from these markers, and the tests of this package run under exactly these rights.
// In the whole cluster the operator reads what teams and the lab write and updates
// Benchmarks and TestBeds. It creates pods, secrets and networks in the lab's
// namespace (nodrop-lab) only. In its own (nodrop-system) it has leases and the
// certificate of its webhooks, whose authority it writes into their configuration, and
// those of the recorder.
//
//go:generate go tool controller-gen rbac:roleName=nodrop-operator paths=. output:rbac:dir=../config/rbac
//go:generate cp ../config/rbac/role.yaml ../charts/nodrop/files/rbac/role.yaml
//
// +kubebuilder:rbac:groups=nodrop.dev,resources=benchmarks,verbs=get;list;watch;patch
// Benchmarks are created only by schedules of their namespace, and deleted only when their
// time to live is over, or by the history limits of their schedule.
// +kubebuilder:rbac:groups=nodrop.dev,resources=benchmarks,verbs=create;delete
// +kubebuilder:rbac:groups=nodrop.dev,resources=benchmarkschedules,verbs=get;list;watch
// +kubebuilder:rbac:groups=nodrop.dev,resources=benchmarkschedules/status,verbs=patch
// +kubebuilder:rbac:groups=nodrop.dev,resources=benchmarks/status,verbs=patch
// +kubebuilder:rbac:groups=nodrop.dev,resources=benchmarkresults,verbs=list;create;update;patch
// +kubebuilder:rbac:groups=nodrop.dev,resources=benchmarksnapshots,verbs=list;create;patch
// +kubebuilder:rbac:groups=nodrop.dev,resources=testbeds,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=nodrop.dev,resources=testbeds/status,verbs=patch
// +kubebuilder:rbac:groups=nodrop.dev,resources=trafficprofiles,verbs=get;list;watch
// +kubebuilder:rbac:groups=nodrop.dev,resources=reservations,verbs=get;list;watch
// +kubebuilder:rbac:groups=nodrop.dev,resources=reservations/status,verbs=patch
// +kubebuilder:rbac:groups=nodrop.dev,resources=notificationsinks,verbs=list;watch
// +kubebuilder:rbac:groups=nodrop.dev,resources=notificationsinks/status,verbs=patch
// +kubebuilder:rbac:groups=nodrop.dev,resources=labpolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=nodrop.dev,resources=labpolicies/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=nodrop,verbs=get;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
//
// +kubebuilder:rbac:groups="",namespace=nodrop-lab,resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",namespace=nodrop-lab,resources=secrets,verbs=get;list;create;update;delete
// +kubebuilder:rbac:groups="",namespace=nodrop-lab,resources=configmaps,verbs=get
// +kubebuilder:rbac:groups="",namespace=nodrop-lab,resources=events,verbs=list
// +kubebuilder:rbac:groups=k8s.cni.cncf.io,namespace=nodrop-lab,resources=network-attachment-definitions,verbs=get;list;create;delete
// +kubebuilder:rbac:groups=resource.k8s.io,namespace=nodrop-lab,resources=resourceclaimtemplates,verbs=get
//
// +kubebuilder:rbac:groups="",namespace=nodrop-system,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups="",namespace=nodrop-system,resources=secrets,resourceNames=nodrop-webhook-certificate;nodrop-recorder-certificate,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=nodrop-system,resources=services,resourceNames=nodrop-recorder,verbs=get
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=nodrop-system,resources=leases,verbs=get;create;update
