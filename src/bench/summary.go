package main

import (
	"fmt"
	"slices"
)

// A summary describes one figure of all rounds.
type summary struct {
	Median  float64   `json:"median"`
	Least   float64   `json:"least"`
	Most    float64   `json:"most"`
	Ratio   float64   `json:"times_kcp_go,omitempty"` // 0: unknown
	Samples []float64 `json:"samples"`
}

// newSummary returns nil if there is no sample.
func newSummary[S any](samples []S, figure func(S) float64) *summary {
	s := &summary{}
	for _, sample := range samples {
		s.Samples = append(s.Samples, figure(sample))
	}
	if len(s.Samples) == 0 {
		return nil
	}
	s.Median, s.Least, s.Most = median(s.Samples), slices.Min(s.Samples), slices.Max(s.Samples)
	return s
}

func (s *summary) compareWith(other *summary) {
	if s != nil && other != nil {
		s.Ratio = s.Median / other.Median
	}
}

// A summaryRow has the figures of one program at one work.
type summaryRow struct {
	work, name, note string
	figures          []*summary
}

// reference is the name of what the other rows of the same work are compared with.
const reference = "kcp-go"

// compareRows sets the ratios.
func compareRows(rows []summaryRow) {
	references := map[string]summaryRow{}
	for _, row := range rows {
		if row.name == reference {
			references[row.work] = row
		}
	}
	for _, row := range rows {
		for i, figure := range references[row.work].figures {
			row.figures[i].compareWith(figure)
		}
	}
}

// printRows prints a table in Markdown.
func printRows(titles []string, rows []summaryRow) {
	header, rule := "\n| | |", "|---|---|"
	for _, title := range titles {
		header += " " + title + " | times " + reference + " |"
		rule += "---|---|"
	}
	fmt.Println(header)
	fmt.Println(rule)
	work := ""
	for _, row := range rows {
		line := "| |"
		if row.work != work {
			work = row.work
			line = "| " + work + " |"
		}
		line += " " + row.name + row.note + " |"
		for _, figure := range row.figures {
			line += figure.cells()
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
