// Package honestteams measures what honest teams get from a lab, without and with a hostile team next to
// them. Each honest team keeps benchmarks waiting, and those that end as measured are counted.
package honestteams
