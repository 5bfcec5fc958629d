package v1alpha1

// TimeSpread are times of something that was repeated, in nanoseconds.
type TimeSpread struct {
	// avgNs is the average.
	// +required
	AvgNs int64 `json:"avgNs"`
	// minNs is the shortest.
	// +required
	MinNs int64 `json:"minNs"`
	// maxNs is the longest.
	// +required
	MaxNs int64 `json:"maxNs"`
}

// RouteRefreshSummary is the time that a device takes to send its routes again.
type RouteRefreshSummary struct {
	// session that asked for the routes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Session string `json:"session"`
	// refreshes is the number of requests of the session.
	// +required
	Refreshes int32 `json:"refreshes"`
	// routes that the device advertises to the session.
	// +required
	Routes int64 `json:"routes"`
	// refresh is from the ROUTE-REFRESH message to the last route that came again, of the
	// requests after which all routes came. Absent when that was none.
	// +optional
	Refresh *TimeSpread `json:"refresh,omitempty"`
	// routesPerSecond is the average rate at which the routes came. Absent when the time is
	// too short to be seen.
	// +optional
	RoutesPerSecond *int64 `json:"routesPerSecond,omitempty"`
	// unseen is the number of requests after which not all routes came within the interval.
	// +optional
	Unseen int32 `json:"unseen,omitempty"`
}

// BGPRestartSummary contains the outage and the losses of a restart of the device's BGP.
type BGPRestartSummary struct {
	// restarts that were measured.
	// +required
	Restarts int32 `json:"restarts"`
	// sessions that were established before and after.
	// +required
	Sessions int32 `json:"sessions"`
	// routes that the sessions announce.
	// +required
	Routes int64 `json:"routes"`
	// outage is the time for which frames were lost: the number of lost frames of a stream
	// over the rate at which it was sent, for the stream that lost most (RFC 6412 section
	// 3.4).
	// +required
	Outage TimeSpread `json:"outage"`
	// sessionsBack is from the beginning of the restart until all sessions were established
	// again. Absent when that was never seen.
	// +optional
	SessionsBack *TimeSpread `json:"sessionsBack,omitempty"`
	// routesBack is from the beginning of the restart until the device advertised all routes
	// again on all sessions. Absent when that was never seen.
	// +optional
	RoutesBack *TimeSpread `json:"routesBack,omitempty"`
	// unseen is the number of restarts after which not all sessions and routes came back in
	// time.
	// +optional
	Unseen int32 `json:"unseen,omitempty"`
	// avgLost is the average number of lost frames.
	// +required
	AvgLost int64 `json:"avgLost"`
}

// SessionScaleSummary is the number of BGP sessions that a device holds.
type SessionScaleSummary struct {
	// sessions is the largest number that was established together within the time.
	// +required
	Sessions int32 `json:"sessions"`
	// tried is the largest number that was tried.
	// +required
	Tried int32 `json:"tried"`
	// full reports whether a larger number was not established; otherwise all sessions of the bed
	// were.
	// +optional
	Full bool `json:"full"`
	// establishNs is the time until all sessions were established, in nanoseconds.
	// +required
	EstablishNs int64 `json:"establishNs"`
	// sessionsPerSecond is the number of sessions that were established per second. Absent
	// when the time is too short to be seen.
	// +optional
	SessionsPerSecond *int64 `json:"sessionsPerSecond,omitempty"`
	// soakNs is the time for which the established sessions were watched, in nanoseconds.
	// +required
	SoakNs int64 `json:"soakNs"`
	// flaps is the number of times that the routes of a session were withdrawn and announced
	// again in that time.
	// +required
	Flaps int64 `json:"flaps"`
	// flapsPerHour are the flaps in an hour.
	// +required
	FlapsPerHour int64 `json:"flapsPerHour"`
	// down is the number of times that a session went down in that time.
	// +required
	Down int64 `json:"down"`
	// downPerHour is the number of times per hour that a session went down.
	// +required
	DownPerHour int64 `json:"downPerHour"`
}
