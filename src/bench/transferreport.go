package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
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

// A summary describes one figure of all rounds.
type summary struct {
	Median  float64   `json:"median"`
	Least   float64   `json:"least"`
	Most    float64   `json:"most"`
	Ratio   float64   `json:"times_kcp_go,omitempty"` // 0: unknown
	Samples []float64 `json:"samples"`
}

func newSummary(speeds []speed, figure func(speed) float64) *summary {
	s := &summary{}
	for _, speed := range speeds {
		s.Samples = append(s.Samples, figure(speed))
	}
	if len(s.Samples) == 0 {
		return nil
	}
	s.Median, s.Least, s.Most = median(s.Samples), slices.Min(s.Samples), slices.Max(s.Samples)
	return s
}

func newTransferReport(all []*transferResult) *transferReport {
	references := map[string]*transferResult{}
	for _, r := range all {
		r.MBps = newSummary(r.speeds, func(s speed) float64 { return s.MBps })
		r.CPUPerGB = newSummary(r.speeds, func(s speed) float64 { return s.CPUPerGB })
		if r.mode == "ping" {
			r.PingP50 = newSummary(r.speeds, func(s speed) float64 { return s.PingP50 / 1000 })
			r.PingP99 = newSummary(r.speeds, func(s speed) float64 { return s.PingP99 / 1000 })
		}
		if r.Peers == "kcp-go" {
			references[r.Work] = r
		}
	}
	for _, r := range all {
		if reference := references[r.Work]; reference != nil {
			r.MBps.compareWith(reference.MBps)
			r.CPUPerGB.compareWith(reference.CPUPerGB)
			r.PingP50.compareWith(reference.PingP50)
			r.PingP99.compareWith(reference.PingP99)
		}
	}
	return &transferReport{Machine: machine(), Date: time.Now().Format(time.DateOnly), Results: all}
}

func (s *summary) compareWith(reference *summary) {
	if s != nil && reference != nil {
		s.Ratio = s.Median / reference.Median
	}
}

func machine() string {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	model := runtime.GOARCH
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s, %d cores, %s %s",
		model, runtime.NumCPU(), runtime.GOOS, bytes.TrimSpace(kernel))
}

// versions also has what the class of each JVM prints.
func versions(jvms jvms, classPath, class string) map[string]string {
	all := map[string]string{"go": runtime.Version()}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "github.com/xtaci/kcp-go/v5" {
				all["kcp-go"] = module.Version
			}
		}
	}
	for _, jvm := range jvms {
		args := append(jvm.command[1:len(jvm.command):len(jvm.command)],
			"-cp", classPath, class, "--version")
		version, err := exec.Command(jvm.command[0], args...).Output()
		if err != nil {
			version = []byte(err.Error())
		}
		all[jvm.name] = string(bytes.TrimSpace(version))
	}
	return all
}

// print prints Markdown: throughput, and latency under load.
func (r *transferReport) print() {
	fmt.Printf("%s; %s.\n", r.Machine, r.source())
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		fmt.Printf("%s: %s. ", name, r.Versions[name])
	}
	fmt.Printf("\n%s. Medians (least to most) of %d rounds of %v s, after %v s.\n",
		r.Session, r.Rounds, r.Time, r.WarmUp)

	table := func(ping bool, columns ...transferColumn) {
		var rows []*transferResult
		for _, result := range r.Results {
			if (result.mode == "ping") == ping {
				rows = append(rows, result)
			}
		}
		if len(rows) > 0 {
			printTransfers(rows, columns)
		}
	}
	throughput := transferColumn{"MB/s", func(r *transferResult) *summary { return r.MBps }}
	table(false,
		throughput,
		transferColumn{"CPU s/GB", func(r *transferResult) *summary { return r.CPUPerGB }})
	table(true,
		transferColumn{"p50, ms", func(r *transferResult) *summary { return r.PingP50 }},
		transferColumn{"p99, ms", func(r *transferResult) *summary { return r.PingP99 }},
		throughput)
}

// source is the version of kcp4j that was measured, and the date.
func (r *transferReport) source() string {
	return strings.TrimSpace(r.Commit + " " + r.Date)
}

type transferColumn struct {
	title  string
	figure func(*transferResult) *summary
}

func printTransfers(rows []*transferResult, columns []transferColumn) {
	header, rule := "\n| | |", "|---|---|"
	for _, c := range columns {
		header += " " + c.title + " | times kcp-go |"
		rule += "---|---|"
	}
	fmt.Println(header)
	fmt.Println(rule)
	work := ""
	for _, r := range rows {
		line := "| |"
		if r.Work != work {
			work = r.Work
			line = "| " + work + " |"
		}
		line += " " + r.Peers
		if r.Unavailable != "" {
			line += " (" + r.Unavailable + ")"
		}
		line += " |"
		for _, c := range columns {
			line += c.figure(r).cells()
		}
		fmt.Println(line)
	}
}

func (s *summary) cells() string {
	if s == nil {
		return " - | - |"
	}
	cells := fmt.Sprintf(" %s (%s to %s) |",
		threeDigits(s.Median), threeDigits(s.Least), threeDigits(s.Most))
	if s.Ratio == 0 {
		return cells + " - |"
	}
	return cells + fmt.Sprintf(" %.2f |", s.Ratio)
}

// threeDigits formats a figure with the precision that a few rounds have.
func threeDigits(figure float64) string {
	switch {
	case figure >= 100:
		return fmt.Sprintf("%.0f", figure)
	case figure >= 10:
		return fmt.Sprintf("%.1f", figure)
	}
	return fmt.Sprintf("%.2f", figure)
}
