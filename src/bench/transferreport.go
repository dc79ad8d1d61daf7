package main

import (
	"fmt"
	"strings"
	"time"
)

// A transferReport has the results of compare-load, and describes the machine.
type transferReport struct {
	Commit   string            `json:"commit,omitempty"`
	Machine  string            `json:"machine"`
	Date     string            `json:"date"`
	Versions map[string]string `json:"versions"`
	Rounds   int               `json:"rounds"`
	WarmUp   float64           `json:"warm_up_s"`
	Time     float64           `json:"time_s"`
	Session  string            `json:"session"`
	Results  []*transferResult `json:"results"`
}

// A transferResult has all samples of a transfer.
type transferResult struct {
	*transfer   `json:"-"`
	Work        string   `json:"work"`
	Peers       string   `json:"peers"`
	Unavailable string   `json:"unavailable,omitempty"`
	MBps        *summary `json:"mb_s,omitempty"`
	CPUPerGB    *summary `json:"cpu_s_per_gb,omitempty"`
	PingP50     *summary `json:"ping_p50_ms,omitempty"`
	PingP99     *summary `json:"ping_p99_ms,omitempty"`
	speeds      []speed
}

func newTransferReport(all []*transferResult) *transferReport {
	var rows []summaryRow
	for _, r := range all {
		r.MBps = newSummary(r.speeds, func(s speed) float64 { return s.MBps })
		r.CPUPerGB = newSummary(r.speeds, func(s speed) float64 { return s.CPUPerGB })
		if r.mode == "ping" {
			r.PingP50 = newSummary(r.speeds, func(s speed) float64 { return s.PingP50 / 1000 })
			r.PingP99 = newSummary(r.speeds, func(s speed) float64 { return s.PingP99 / 1000 })
		}
		rows = append(rows, r.row(r.MBps, r.CPUPerGB, r.PingP50, r.PingP99))
	}
	compareRows(rows)
	return &transferReport{Machine: machine(), Date: time.Now().Format(time.DateOnly), Results: all}
}

func (r *transferResult) row(figures ...*summary) summaryRow {
	row := summaryRow{work: r.Work, name: r.Peers, figures: figures}
	if r.Unavailable != "" {
		row.note = " (" + r.Unavailable + ")"
	}
	return row
}

// print prints Markdown: throughput, and latency under load.
func (r *transferReport) print() {
	printMachine(r.Machine, r.source(), r.Versions)
	fmt.Printf("%s. Medians (least to most) of %d rounds of %v s, after %v s.\n",
		r.Session, r.Rounds, r.Time, r.WarmUp)

	var transfers, pings []summaryRow
	for _, result := range r.Results {
		if result.mode == "ping" {
			pings = append(pings, result.row(result.PingP50, result.PingP99, result.MBps))
		} else {
			transfers = append(transfers, result.row(result.MBps, result.CPUPerGB))
		}
	}
	if len(transfers) > 0 {
		printRows([]string{"MB/s", "CPU s/GB"}, transfers)
	}
	if len(pings) > 0 {
		printRows([]string{"p50, ms", "p99, ms", "MB/s"}, pings)
	}
}

// source is the version of kcp4j that was measured, and the date.
func (r *transferReport) source() string {
	return strings.TrimSpace(r.Commit + " " + r.Date)
}
