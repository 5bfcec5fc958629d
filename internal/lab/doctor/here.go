package doctor

// Here returns the report of an engine from findings on this computer, without a cluster.
func Here(e Engine, findings []Finding) Report {
	for i := range findings {
		findings[i].Engine = e
	}
	return Report{Engines: []Summary{summarise(e, findings, true)}, Findings: findings}
}
