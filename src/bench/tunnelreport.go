package main

import (
	"fmt"
	"strings"
)

// A tunnelReport has the results of compare-tunnel, and describes the machine.
type tunnelReport struct {
	Commit    string            `json:"commit,omitempty"`
	Machine   string            `json:"machine"`
	Date      string            `json:"date"`
	Versions  map[string]string `json:"versions"`
	Options   string            `json:"options"`
	Direction string            `json:"direction"`
	Loss      float64           `json:"loss_percent"`
	DelayMs   float64           `json:"delay_ms"` // each way
	Rounds    int               `json:"rounds"`
	WarmUp    float64           `json:"warm_up_s"`
	Time      float64           `json:"time_s"`
	Results   []*tunnelResult   `json:"results"`
}

// A tunnelResult has all samples of a variant.
type tunnelResult struct {
	variant  *tunnelVariant
	Work     string   `json:"work"`
	Ends     string   `json:"ends"`
	MBps     *summary `json:"mb_s,omitempty"`
	CPUPerGB *summary `json:"cpu_s_per_gb,omitempty"`
	ClientMB *summary `json:"client_resident_mb,omitempty"`
	ServerMB *summary `json:"server_resident_mb,omitempty"`
	Refused  []string `json:"refused,omitempty"` // why runs are not published
	Failed   []string `json:"failed,omitempty"`
	samples  []tunnelSample
}

// A tunnelSample is the result of a run. Bytes are those of the TCP connections.
type tunnelSample struct {
	mbps               float64
	cpuPerGB           float64 // seconds, of both processes
	clientMB, serverMB float64 // resident, at the end
	otherCPU           float64 // percent of a core
}

// refusal says why a sample is not published, or nothing.
func (s *tunnelSample) refusal() string {
	if s.otherCPU > maxOtherCPU {
		return fmt.Sprintf("other processes or the host took %.0f %% of a core", s.otherCPU)
	}
	return ""
}

func newTunnelResults(variants []*tunnelVariant) []*tunnelResult {
	var results []*tunnelResult
	for _, v := range variants {
		results = append(results, &tunnelResult{variant: v, Work: v.work(), Ends: v.ends()})
	}
	return results
}

// summarize summarizes all samples.
func (r *tunnelReport) summarize() {
	var rows []summaryRow
	for _, result := range r.Results {
		summary := func(figure func(tunnelSample) float64) *summary {
			return newSummary(result.samples, figure)
		}
		result.MBps = summary(func(s tunnelSample) float64 { return s.mbps })
		result.CPUPerGB = summary(func(s tunnelSample) float64 { return s.cpuPerGB })
		result.ClientMB = summary(func(s tunnelSample) float64 { return s.clientMB })
		result.ServerMB = summary(func(s tunnelSample) float64 { return s.serverMB })
		rows = append(rows, result.row())
	}
	compareRows(rows)
}

func (r *tunnelResult) row() summaryRow {
	row := summaryRow{work: r.Work, name: r.Ends,
		figures: []*summary{r.MBps, r.CPUPerGB, r.ClientMB, r.ServerMB}}
	if len(r.Failed) > 0 {
		row.note = fmt.Sprintf(" (%d failed)", len(r.Failed))
	}
	return row
}

// print prints Markdown.
func (r *tunnelReport) print() {
	printMachine(r.Machine, strings.TrimSpace(r.Commit+" "+r.Date), r.Versions)
	fmt.Printf("%s; %s; loss %v %%, delay %v ms each way. "+
		"Medians (least to most) of %d rounds of %v s, after %v s.\n",
		r.Options, r.Direction, r.Loss, r.DelayMs, r.Rounds, r.Time, r.WarmUp)
	var rows []summaryRow
	for _, result := range r.Results {
		rows = append(rows, result.row())
	}
	printRows([]string{"MB/s", "CPU s/GB", "client, MB", "server, MB"}, rows)
}
