package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/bench/link"
)

// A recoveryReport has the results of compare-recovery, and describes the machine.
type recoveryReport struct {
	Commit      string             `json:"commit,omitempty"`
	Machine     string             `json:"machine"`
	Date        string             `json:"date"`
	Versions    map[string]string  `json:"versions"`
	Link        string             `json:"link"`
	Calibration *calibrationResult `json:"calibration"`
	Runs        []*recoveryRun     `json:"runs"`
}

// A recoveryRun is a measurement of one case with one seed.
type recoveryRun struct {
	Rows      string           `json:"rows"`
	Table     string           `json:"table"`
	Peers     string           `json:"peers"`
	Seed      int              `json:"seed"`
	Figures   []recoveryFigure `json:"figures"`
	Remarks   []string         `json:"remarks,omitempty"`
	Up        link.Counts      `json:"up"`
	Down      link.Counts      `json:"down"`
	ExcessP99 time.Duration    `json:"excess_p99_ns"`
	OtherCPU  float64          `json:"other_cpu_percent"`
	Refusal   string           `json:"refusal,omitempty"` // of a run that was disturbed
	Failure   string           `json:"failure,omitempty"` // of a process
}

// A recoveryFigure is a sample of one column of a table.
type recoveryFigure struct {
	Column string   `json:"column"`
	Value  *float64 `json:"value,omitempty"`
	Note   string   `json:"note,omitempty"` // why there is no value, or what else happened
}

func figureOf(column string, value float64) recoveryFigure {
	return recoveryFigure{Column: column, Value: &value}
}

func (r *recoveryRun) isPublished() bool {
	return r.Refusal == ""
}

// fail notes in each column that a process has failed.
func (r *recoveryRun) fail(columns []string, err error) {
	r.Failure = strings.TrimSpace(err.Error())
	r.Figures = nil
	for _, column := range columns {
		r.Figures = append(r.Figures, recoveryFigure{Column: column, Note: "failed"})
	}
}

// publish prints the tables and writes the files whose names are not empty.
func (r *recoveryReport) publish(jsonFile, plots string) error {
	r.print()
	var errs []error
	if jsonFile != "" {
		errs = append(errs, writeJSON(jsonFile, r))
	}
	if plots != "" {
		errs = append(errs, r.writePlots(plots))
	}
	return errors.Join(errs...)
}

func (r *recoveryReport) source() string {
	return strings.TrimSpace(r.Commit + " " + r.Date)
}

func (r *recoveryReport) print() {
	printMachine(r.Machine, r.source(), r.Versions)
	fmt.Printf("Link: %s.", r.Link)
	if c := r.Calibration; c != nil {
		fmt.Printf(" Calibration: %.3f ms (median), %.3f ms (p99).", c.P50Ms, c.P99Ms)
	}
	fmt.Println("\nMedians (least to most) of all seeds, no core idle.")
	for _, table := range r.tables() {
		table.print(os.Stdout)
	}
}

// A recoveryTable has the samples of one table.
type recoveryTable struct {
	title          string
	peers, columns []string // in the order of the runs
	cells          map[recoveryCell][]recoveryFigure
}

type recoveryCell struct{ peers, column string }

// tables are those of the published runs, in their order.
func (r *recoveryReport) tables() []*recoveryTable {
	var tables []*recoveryTable
	for _, run := range r.Runs {
		if !run.isPublished() {
			continue
		}
		at := slices.IndexFunc(tables, func(t *recoveryTable) bool { return t.title == run.Table })
		if at < 0 {
			at = len(tables)
			tables = append(tables,
				&recoveryTable{title: run.Table, cells: map[recoveryCell][]recoveryFigure{}})
		}
		tables[at].add(run)
	}
	return tables
}

func (t *recoveryTable) add(run *recoveryRun) {
	if !slices.Contains(t.peers, run.Peers) {
		t.peers = append(t.peers, run.Peers)
	}
	for _, figure := range run.Figures {
		if !slices.Contains(t.columns, figure.Column) {
			t.columns = append(t.columns, figure.Column)
		}
		cell := recoveryCell{run.Peers, figure.Column}
		t.cells[cell] = append(t.cells[cell], figure)
	}
}

// print prints Markdown.
func (t *recoveryTable) print(out *os.File) {
	fmt.Fprintf(out, "\n| %s | %s |\n", t.title, strings.Join(t.columns, " | "))
	fmt.Fprintln(out, strings.Repeat("|---", len(t.columns)+1)+"|")
	for _, peers := range t.peers {
		row := "| " + peers + " |"
		for _, column := range t.columns {
			row += " " + cellText(t.cells[recoveryCell{peers, column}]) + " |"
		}
		fmt.Fprintln(out, row)
	}
}

// values are those of a cell, in the order of the seeds.
func values(figures []recoveryFigure) []float64 {
	var values []float64
	for _, figure := range figures {
		if figure.Value != nil {
			values = append(values, *figure.Value)
		}
	}
	return values
}

// cellText has the median and the range of the values, and counts the notes.
func cellText(figures []recoveryFigure) string {
	var parts []string
	if s := newSummary(values(figures), func(v float64) float64 { return v }); s != nil {
		text := threeDigits(s.Median)
		if len(s.Samples) > 1 {
			text += fmt.Sprintf(" (%s to %s)", threeDigits(s.Least), threeDigits(s.Most))
		}
		parts = append(parts, text)
	}
	counts := map[string]int{}
	var notes []string
	for _, figure := range figures {
		if figure.Note == "" {
			continue
		}
		if counts[figure.Note]++; counts[figure.Note] == 1 {
			notes = append(notes, figure.Note)
		}
	}
	for _, note := range notes {
		if len(figures) > 1 {
			note = fmt.Sprintf("%s: %d of %d", note, counts[note], len(figures))
		}
		parts = append(parts, note)
	}
	return cmp.Or(strings.Join(parts, "; "), "-")
}

// writePlots writes a file for each table of outages: the time to the first data, by the length of
// the outage.
func (r *recoveryReport) writePlots(prefix string) error {
	var errs []error
	for _, plot := range r.plots() {
		file := fmt.Sprintf("%s-%s.svg", prefix, plot.name)
		errs = append(errs, os.WriteFile(file, plot.chart.svg(r.caption()), 0o644))
	}
	return errors.Join(errs...)
}

func (r *recoveryReport) caption() string {
	return fmt.Sprintf("%s; %s. Medians of all seeds.", r.Machine, r.source())
}

type recoveryPlot struct {
	name  string
	chart *chart
}

// plots leave out what has not recovered, and tables in which nothing has.
func (r *recoveryReport) plots() []recoveryPlot {
	var plots []recoveryPlot
	for _, table := range r.tables() {
		if !strings.HasPrefix(table.title, outageTitle) {
			continue
		}
		c := &chart{title: table.title, marks: true,
			x: axis{label: "length of the outage, s"}, y: axis{label: "ms to the first data"}}
		var variants []*latencyVariant
		for _, peers := range table.peers {
			variant := &latencyVariant{transport: peers}
			variants = append(variants, variant)
			if s := table.series(variant); s.points != nil {
				c.series = append(c.series, s)
			}
		}
		if c.series == nil {
			continue
		}
		for _, s := range c.series {
			for _, p := range s.points {
				c.x.ticks = append(c.x.ticks, p.x)
			}
		}
		slices.Sort(c.x.ticks)
		c.x.ticks = slices.Compact(c.x.ticks)
		c.fit()
		c.styles = lineStyles(variants)
		plots = append(plots, recoveryPlot{fileName(table.title), c})
	}
	return plots
}

func (t *recoveryTable) series(peers *latencyVariant) series {
	s := series{variant: peers}
	for _, column := range t.columns {
		length, err := time.ParseDuration(column)
		all := values(t.cells[recoveryCell{peers.transport, column}])
		if err == nil && len(all) > 0 {
			s.points = append(s.points, point{length.Seconds(), max(median(all), leastPlottedMs)})
		}
	}
	return s
}

// leastPlottedMs has a place on a logarithmic axis.
const leastPlottedMs = 1

// fileName has the letters and digits of a title, before its unit, with hyphens between the words.
func fileName(title string) string {
	title, _, _ = strings.Cut(strings.TrimPrefix(title, outageTitle), ":")
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
	})
	return strings.Join(words, "-")
}

// outageTitle is what the titles of the tables of outages begin with.
const outageTitle = "Outage"
