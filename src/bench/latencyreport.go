package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/bench/link"
)

// enough is the fraction of the messages whose echo has to arrive during a measurement: those that
// are on their way at its end replace those that were at its beginning.
const enough = 0.98

// maxOtherCPU is the CPU time that other processes and the host of a virtual machine may take, in
// percent of a core. More would delay those that are measured.
const maxOtherCPU = 10

// A latencyReport has the results of a latencyComparison, and describes the machine.
type latencyReport struct {
	Commit      string             `json:"commit,omitempty"`
	Machine     string             `json:"machine"`
	Date        string             `json:"date"`
	Versions    map[string]string  `json:"versions"`
	Link        string             `json:"link"`
	Traffic     string             `json:"traffic"`
	WarmUp      float64            `json:"warm_up_s"`
	Time        float64            `json:"time_s"`
	Calibration *calibrationResult `json:"calibration"`
	Runs        []*latencyRun      `json:"runs"`
	payload     float64            // bytes per second in one direction
	variants    []*latencyVariant  // in the order of tables and plots

	// columns are those of the table of a work.
	columns func(work string) []latencyColumn
}

// A calibrationResult is what the link adds to its delay.
type calibrationResult struct {
	Probes int     `json:"probes"`
	P50Ms  float64 `json:"p50_ms"`
	P99Ms  float64 `json:"p99_ms"`
	MaxMs  float64 `json:"max_ms"`
}

// A latencyRun is a measurement of one variant with one seed.
type latencyRun struct {
	Work      string        `json:"work,omitempty"`
	Transport string        `json:"transport"`
	Settings  string        `json:"settings,omitempty"`
	Loss      float64       `json:"loss_percent"`
	Burst     time.Duration `json:"burst_ns"`
	Delay     time.Duration `json:"delay_ns"`
	Jitter    time.Duration `json:"jitter_ns"`

	Rate       float64     `json:"rate_bytes_per_s,omitempty"`
	QueueBytes int         `json:"queue_bytes,omitempty"`
	Seed       int         `json:"seed"`
	Echoes     *roundTrips `json:"round_trips"`

	// How long the link was measured. A process reports when it gets to it, so that each rate below
	// is that of its own time.
	Time time.Duration `json:"time_ns"`

	// Payload of bulk data in bytes per second, and that of each rival.
	Delivered      float64   `json:"delivered_bytes_per_s,omitempty"`
	RivalDelivered []float64 `json:"rival_delivered_bytes_per_s,omitempty"`

	Up        link.Counts   `json:"up"`
	Down      link.Counts   `json:"down"`
	WaitMean  time.Duration `json:"queue_mean_ns"`     // how long packets up wait for the rate
	WaitP95   time.Duration `json:"queue_p95_ns"`      // the same
	ExcessP99 time.Duration `json:"excess_p99_ns"`     // of the link, over the delay of its packets
	Excess999 time.Duration `json:"excess_p99_9_ns"`   // the same
	OtherCPU  float64       `json:"other_cpu_percent"` // of one core
	Refusal   string        `json:"refusal,omitempty"` // of a run that was disturbed
	Failure   string        `json:"failure,omitempty"` // of the transport
	variant   *latencyVariant
}

func (r *latencyRun) isPublished() bool {
	return r.reason() == ""
}

// reason says why the run is not published.
func (r *latencyRun) reason() string {
	return cmp.Or(r.Refusal, r.Failure)
}

// check refuses the run if it was disturbed. Otherwise it fails if echoes of the messages are
// missing: it must not be repeated until its transport does better.
func (r *latencyRun) check(messages float64) {
	r.refuse()
	switch {
	case r.Refusal != "":
	case r.Echoes.Messages == 0:
		r.Failure = "no message was echoed"
	case float64(r.Echoes.Messages) < enough*messages:
		r.Failure = fmt.Sprintf("only %d of %.0f messages were echoed", r.Echoes.Messages, messages)
	}
}

// checkDelivered does the same for bulk data, which fails if nothing of it was delivered.
func (r *latencyRun) checkDelivered() {
	r.refuse()
	if r.Refusal == "" && r.Delivered == 0 {
		r.Failure = "nothing was delivered"
	}
}

// checkRivals fails a run that was not refused if a rival has delivered nothing.
func (r *latencyRun) checkRivals() {
	if r.isPublished() && slices.Contains(r.RivalDelivered, 0) {
		r.Failure = "a rival delivered nothing"
	}
}

func (r *latencyRun) refuse() {
	usual := tolerance{link.Limit, maxOtherCPU}
	r.Refusal = usual.refuse(r.ExcessP99, r.OtherCPU, r.Up.Failed+r.Down.Failed)
}

// A tolerance is what a run may suffer from. CPU time is in percent of a core.
type tolerance struct {
	excessP99 time.Duration
	otherCPU  float64
}

// refuse says why a run is refused; "" if it is not.
func (t tolerance) refuse(
	excessP99 time.Duration, otherCPU float64, refusedPackets int64,
) string {
	switch {
	case excessP99 > t.excessP99:
		return fmt.Sprintf("the link delayed 1 %% of the packets by %v too much", excessP99)
	case otherCPU > t.otherCPU:
		return fmt.Sprintf("other processes or the host took %.0f %% of a core", otherCPU)
	case refusedPackets > 0:
		return fmt.Sprintf("the system refused %d packets of the link", refusedPackets)
	}
	return ""
}

// publish prints the tables and writes the files whose names are not empty.
func (r *latencyReport) publish(csvFile, jsonFile, plots string) error {
	r.print()
	var errs []error
	if csvFile != "" {
		errs = append(errs, r.writeCSV(csvFile))
	}
	if jsonFile != "" {
		errs = append(errs, writeJSON(jsonFile, r))
	}
	if plots != "" {
		errs = append(errs, r.writePlots(plots))
	}
	return errors.Join(errs...)
}

var csvHeader = []string{
	"work", "transport", "settings", "link", "loss_percent", "burst_ms", "delay_ms", "jitter_ms", "seed",
	"messages", "p50_ms", "p90_ms", "p99_ms", "p99_8_ms", "p99_9_ms", "max_ms",
	"bytes_up", "bytes_down", "datagrams_up", "datagrams_down", "lost_up", "lost_down",
	"dropped_up", "dropped_down", "rate_bytes_per_s", "queue_bytes", "time_s",
	"delivered_bytes_per_s", "rival_delivered_bytes_per_s", "queue_mean_ms", "queue_p95_ms",
	"link_excess_p99_ms", "link_excess_p99_9_ms", "other_cpu_percent", "ok", "reason",
}

// writeCSV writes a row for the calibration, whose times are those that the link adds to its delay,
// and a row for each run.
func (r *latencyReport) writeCSV(file string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	rows := csv.NewWriter(out)
	rows.Write(csvHeader)
	if r.Calibration != nil {
		rows.Write(r.Calibration.row(r.Link))
	}
	for _, run := range r.Runs {
		rows.Write(run.row(r.Link))
	}
	rows.Flush()
	return errors.Join(rows.Error(), out.Close())
}

func (c *calibrationResult) row(link string) []string {
	row := make([]string, len(csvHeader))
	set := func(column, value string) { row[slices.Index(csvHeader, column)] = value }
	set("transport", "calibration")
	set("link", link)
	set("messages", strconv.Itoa(c.Probes))
	set("p50_ms", decimal(c.P50Ms))
	set("p99_ms", decimal(c.P99Ms))
	set("max_ms", decimal(c.MaxMs))
	set("ok", strconv.FormatBool(c.isPrecise()))
	return row
}

func (c *calibrationResult) isPrecise() bool {
	return c.P99Ms <= milliseconds(link.Limit)
}

func (r *latencyRun) row(link string) []string {
	row := []string{r.Work, r.Transport, r.Settings, link, decimal(r.Loss), decimal(milliseconds(r.Burst)),
		decimal(milliseconds(r.Delay)), decimal(milliseconds(r.Jitter)), strconv.Itoa(r.Seed),
		strconv.FormatInt(r.Echoes.Messages, 10)}
	for _, percent := range []float64{50, 90, 99, 99.8, 99.9} {
		row = append(row, decimal(r.Echoes.percentileMs(percent)))
	}
	row = append(row, decimal(r.Echoes.MaxUs/1000))
	for _, count := range []int64{r.Up.Bytes, r.Down.Bytes, r.Up.Packets, r.Down.Packets,
		r.Up.Lost, r.Down.Lost, r.Up.Dropped, r.Down.Dropped,
		int64(r.Rate), int64(r.QueueBytes)} {
		row = append(row, strconv.FormatInt(count, 10))
	}
	var rivals []string
	for _, rate := range r.RivalDelivered {
		rivals = append(rivals, decimal(rate))
	}
	row = append(row, decimal(r.Time.Seconds()), decimal(r.Delivered), strings.Join(rivals, " "))
	for _, d := range []time.Duration{r.WaitMean, r.WaitP95, r.ExcessP99, r.Excess999} {
		row = append(row, decimal(milliseconds(d)))
	}
	return append(row, fmt.Sprintf("%.1f", r.OtherCPU),
		strconv.FormatBool(r.isPublished()), r.reason())
}

func milliseconds(d time.Duration) float64 {
	return float64(d) / float64(time.Millisecond)
}

// decimal has at most three decimals.
func decimal(figure float64) string {
	return strconv.FormatFloat(math.Round(figure*1000)/1000, 'f', -1, 64)
}

// A latencyCell has the runs of a variant at one loss that are published, and counts those that
// have failed.
type latencyCell struct {
	variant *latencyVariant
	loss    float64
	runs    []*latencyRun
	failed  int
}

// cells are ordered by loss, then as the variants.
func (r *latencyReport) cells() []*latencyCell {
	var cells []*latencyCell
	for _, loss := range r.losses() {
		for _, v := range r.variants {
			cell := &latencyCell{variant: v, loss: loss}
			for _, run := range r.Runs {
				if run.variant == v && run.Loss == loss {
					cell.add(run)
				}
			}
			if len(cell.runs)+cell.failed > 0 {
				cells = append(cells, cell)
			}
		}
	}
	return cells
}

func (c *latencyCell) add(run *latencyRun) {
	if run.isPublished() {
		c.runs = append(c.runs, run)
	}
	if run.Failure != "" {
		c.failed++
	}
}

func (r *latencyReport) losses() []float64 {
	var losses []float64
	for _, run := range r.Runs {
		losses = append(losses, run.Loss)
	}
	slices.Sort(losses)
	return slices.Compact(losses)
}

// worst returns the highest figure of all published runs, at least one.
func (c *latencyCell) worst(figure func(*latencyRun) float64) float64 {
	worst := figure(c.runs[0])
	for _, run := range c.runs[1:] {
		worst = max(worst, figure(run))
	}
	return worst
}

// least returns the lowest figure of all published runs, at least one.
func (c *latencyCell) least(figure func(*latencyRun) float64) float64 {
	return -c.worst(func(r *latencyRun) float64 { return -figure(r) })
}

func percentileOf(percent float64) func(*latencyRun) float64 {
	return func(r *latencyRun) float64 { return r.Echoes.percentileMs(percent) }
}

func maxOf(r *latencyRun) float64 { return r.Echoes.MaxUs / 1000 }

// timesPayloadUp is how many times its payload the client sends.
func (r *latencyReport) timesPayloadUp(run *latencyRun) float64 {
	return float64(run.Up.Bytes) / (r.payload * run.Time.Seconds())
}

func (r *latencyReport) timesPayloadDown(run *latencyRun) float64 {
	return float64(run.Down.Bytes) / (r.payload * run.Time.Seconds())
}

// source is the version of kcp4j that was measured, and the date.
func (r *latencyReport) source() string {
	return strings.TrimSpace(r.Commit + " " + r.Date)
}

// print prints Markdown: a table for each loss and work.
func (r *latencyReport) print() {
	printMachine(r.Machine, r.source(), r.Versions)
	fmt.Printf("%s; link: %s.", r.Traffic, r.Link)
	if c := r.Calibration; c != nil {
		fmt.Printf(" Calibration: %.3f ms (median), %.3f ms (p99).", c.P50Ms, c.P99Ms)
	}
	fmt.Printf("\nRuns of %v s, after %v s, no core idle. Round trips in ms. The worst of all runs.\n",
		r.Time, r.WarmUp)
	var last *latencyCell
	for _, cell := range r.cells() {
		if last == nil || cell.loss != last.loss || cell.variant.work != last.variant.work {
			r.printHeader(cell.variant.work, cell.loss)
		}
		r.printRow(cell)
		last = cell
	}
}

// A latencyColumn has a figure of all runs of a cell.
type latencyColumn struct {
	title  string
	figure func(*latencyCell) float64
}

func worst(title string, figure func(*latencyRun) float64) latencyColumn {
	return latencyColumn{title, func(c *latencyCell) float64 { return c.worst(figure) }}
}

func least(title string, figure func(*latencyRun) float64) latencyColumn {
	return latencyColumn{title, func(c *latencyCell) float64 { return c.least(figure) }}
}

// gameColumns are those of compare-latency.
func (r *latencyReport) gameColumns(string) []latencyColumn {
	return []latencyColumn{
		worst("p50", percentileOf(50)), worst("p90", percentileOf(90)), worst("p99", percentileOf(99)),
		worst("p99.8", percentileOf(99.8)), worst("p99.9", percentileOf(99.9)), worst("max", maxOf),
		worst("bytes up, times payload", r.timesPayloadUp), worst("down", r.timesPayloadDown),
	}
}

func (r *latencyReport) printHeader(work string, loss float64) {
	header, rule := fmt.Sprintf("%v %% loss | runs |", loss), "|---|---|"
	if work != "" {
		header = work + ", " + header
	}
	for _, column := range r.columns(work) {
		header += " " + column.title + " |"
		rule += "---|"
	}
	fmt.Println("\n| " + header)
	fmt.Println(rule)
}

func (r *latencyReport) printRow(cell *latencyCell) {
	row := fmt.Sprintf("| %s | %d", cell.variant.name(), len(cell.runs))
	if cell.failed > 0 {
		row += fmt.Sprintf(", %d failed", cell.failed)
	}
	row += " |"
	for _, column := range r.columns(cell.variant.work) {
		if len(cell.runs) == 0 {
			row += " - |"
		} else {
			row += " " + threeDigits(column.figure(cell)) + " |"
		}
	}
	fmt.Println(row)
}
